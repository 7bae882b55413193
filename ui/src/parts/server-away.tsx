/** One message for all pages while the server does not answer; everything is asked again when it does. */
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useState } from "react";
import { reach, useServerAway } from "../api/reach.ts";
import { Button } from "./controls.tsx";
import * as Icon from "./icons.tsx";

const RETRY_MS = 2_000;

export function ServerAway() {
  return useServerAway() ? <Banner /> : null;
}

function Banner() {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const ask = useCallback(async () => {
    setAsking(true);
    const answer = await reach("/health/live", { cache: "no-store" }).catch(() => null);
    setAsking(false);
    if (answer) await client.invalidateQueries();
  }, [client]);
  useEffect(() => {
    const timer = setInterval(ask, RETRY_MS);
    return () => clearInterval(timer);
  }, [ask]);
  return (
    <div
      role="alert"
      className="sticky top-0 z-40 flex flex-wrap items-center justify-center gap-x-3 gap-y-1 border-b border-warn/30 bg-warn-soft px-4 py-2">
      <Icon.Warning className="text-warn" />
      <span>
        <b className="font-semibold">The server cannot be reached.</b> It is asked again every two seconds; what you see
        may be old.
      </span>
      <Button small disabled={isAsking} onClick={ask}>
        {isAsking ? "Asking…" : "Try again"}
      </Button>
    </div>
  );
}
