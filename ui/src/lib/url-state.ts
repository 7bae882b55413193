/** What a page shows lives in its address, so that every view can be shared and reloaded. */
import { useCallback } from "react";
import { useSearchParams } from "react-router";

type Changes = Record<string, string | null | undefined>;

/** The parameters, and a way to change some; empty ones leave the address. */
export function useUrlState(): [URLSearchParams, (changes: Changes, push?: boolean) => void] {
  const [params, setParams] = useSearchParams();
  const change = useCallback(
    (changes: Changes, push = false) =>
      setParams(
        (old) => {
          const next = new URLSearchParams(old);
          for (const [name, value] of Object.entries(changes)) {
            if (value) next.set(name, value);
            else next.delete(name);
          }
          return next;
        },
        { replace: !push, preventScrollReset: true },
      ),
    [setParams],
  );
  return [params, change];
}

/** A link to the same page with some parameters changed. */
export function withParams(params: URLSearchParams, changes: Changes): string {
  const next = new URLSearchParams(params);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  return `?${next}`;
}
