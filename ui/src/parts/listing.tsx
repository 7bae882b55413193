/** Long lists: a search in them, and so many rows at a time. */
import { type ReactNode, useEffect, useState } from "react";
import { useUrlState } from "../lib/url-state.ts";
import { count } from "../lib/format.ts";
import { Button, TextField } from "./controls.tsx";

const PAGE = 50;

/** The first rows, and a button for more of them where there are. Another `key` starts anew. */
export function usePages<T>(rows: T[], key: string): [shown: T[], more: ReactNode] {
  const [pages, setPages] = useState({ key, n: 1 });
  const n = pages.key === key ? pages.n : 1;
  const shown = rows.slice(0, n * PAGE);
  const more = shown.length < rows.length && (
    <div className="flex items-center justify-center gap-3 border-t border-line px-5 py-3 text-[0.87rem] text-faint">
      {count(shown.length)} of {count(rows.length)}
      <Button small onClick={() => setPages({ key, n: n + 1 })}>
        Show more
      </Button>
    </div>
  );
  return [shown, more];
}

/** Typed into the address, a moment after the last letter. */
export function SearchField({
  label,
  name = "text",
  hidden = true,
  placeholder = "Search…",
  className = "w-[180px]",
}: {
  label: string;
  name?: string;
  hidden?: boolean;
  placeholder?: string;
  className?: string;
}) {
  const [params, change] = useUrlState();
  const inAddress = params.get(name) ?? "";
  const [value, setValue] = useState(inAddress);
  useEffect(() => setValue(inAddress), [inAddress]);
  useEffect(() => {
    if (value === inAddress) return;
    const timer = setTimeout(() => change({ [name]: value.trim() }), 350);
    return () => clearTimeout(timer);
  }, [value, inAddress, name, change]);
  return (
    <TextField
      label={label}
      hidden={hidden}
      type="search"
      placeholder={placeholder}
      className={className}
      value={value}
      onChange={(e) => setValue(e.target.value)}
    />
  );
}
