/** What tells sessions apart at a glance: how it began, why it failed, and what its calls took. */
import { useQueries } from "@tanstack/react-query";
import { api, ok, type Schemas } from "../../api/client.ts";
import { count, dollars } from "../../lib/format.ts";

type View = Schemas["SessionView"];
type Key = { user_id: string; session_id: string };

export type Glance = { firstWords: string; reason: string; calls: string };

/** One session, whole; the list and the panel share it, so that opening a row shows it at once. */
export const sessionView = ({ user_id, session_id }: Key) => ({
  queryKey: ["session-view", user_id, session_id],
  queryFn: () => ok(api.GET("/api/sessions/{user_id}/{session_id}", { params: { path: { user_id, session_id } } })),
});

/** Of the rows in sight, in their order; undefined while one is asked for. */
export function useGlances(rows: Key[]): (Glance | undefined)[] {
  return useQueries({
    queries: rows.map((row) => ({ ...sessionView(row), staleTime: 60_000, retry: false })),
    combine: (answers) => answers.map(({ data }) => data && glanceOf(data)),
  });
}

export function glanceOf({
  interactions,
  evaluation_results,
}: Pick<View, "interactions" | "evaluation_results">): Glance {
  const first = interactions.find((turn) => turn.role.toLowerCase() === "user" && turn.content) ?? interactions[0];
  const verdict = evaluation_results?.find((result) => result.evaluation_name === "agent_success");
  const used = interactions.flatMap((turn) => turn.usage ?? []);
  return {
    firstWords: first?.content ?? "",
    reason: verdict && !verdict.is_success ? verdict.failure_reason : "",
    calls: callsOf(used),
  };
}

/** Tokens, cost and time of a session's calls; empty if no turn carries them. */
function callsOf(used: Schemas["Usage"][]): string {
  const sum = (pick: (usage: Schemas["Usage"]) => number | null | undefined) => {
    const known = used.map(pick).filter((n) => n != null);
    return known.length === 0 ? null : known.reduce((a, b) => a + b, 0);
  };
  const tokens = sum((usage) =>
    usage.input_tokens == null && usage.output_tokens == null
      ? null
      : (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0),
  );
  const cost = sum((usage) => usage.cost_usd);
  const latency = sum((usage) => usage.latency_ms);
  return [
    tokens !== null && `${count(tokens)} tokens`,
    cost !== null && dollars(cost),
    latency !== null && `${(latency / 1000).toFixed(1)} s`,
  ]
    .filter(Boolean)
    .join(", ");
}
