/** Whether an organization has a session yet. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, ok, type Schemas } from "../../api/client.ts";

export type Arrival = {
  /** The newest session; null if there is none, undefined while that is not known. */
  newest: Schemas["ListedSession"] | null | undefined;
  isLoading: boolean;
  error: Error | null;
  /** True from when there was none until somebody goes on. */
  waits: boolean;
  goOn: () => void;
};

const WAIT_MS = 2_000;
const LOOK_MS = 5_000;

/** Looks for a session when asked to, again and again while there is none; `always` goes on after that. A page that waits
 *  goes on by a click and not by itself: somebody may just be reading, or have a key on it that is shown once. */
export function useArrival(ask: boolean, always = false): Arrival {
  const client = useQueryClient();
  const [waits, setWaits] = useState(false);
  const newest = useQuery({
    queryKey: ["newest-session"],
    enabled: ({ state }) => (waits ? state.data === null : ask),
    queryFn: async () => (await ok(api.GET("/api/sessions", { params: { query: { limit: 1 } } }))).sessions[0] ?? null,
    refetchInterval: ({ state }) => (state.data === null ? WAIT_MS : always && LOOK_MS),
  });
  if (newest.data === null && !waits) setWaits(true);
  const arrived = waits && !!newest.data;
  useEffect(() => {
    // Pages that were opened before know of no session.
    if (arrived) void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "newest-session" });
  }, [arrived, client]);
  return {
    newest: newest.data,
    isLoading: newest.isLoading,
    error: newest.error,
    waits,
    goOn: () => setWaits(false),
  };
}
