/** An experiment's results, and what they come to in a word. */
import { useQuery } from "@tanstack/react-query";
import { api, ok, type Schemas } from "../../api/client.ts";
import type { Results } from "../../api/types.ts";

/** How often the results of an active experiment are asked for: they are computed anew each time. */
const ACTIVE_POLL_MS = 60_000;

export function useResults(experimentId: string) {
  return useQuery({
    queryKey: ["experiment-results", experimentId],
    refetchInterval: ({ state }) => state.data?.experiment.ended_at === null && ACTIVE_POLL_MS,
    queryFn: () =>
      ok(
        api.GET("/api/retrieval_experiments/{experiment_id}/results", {
          params: { path: { experiment_id: experimentId } },
        }),
      ),
  });
}

type Verdict = { word: string; tone: "good" | "bad" | "warn" | "neutral" | "accent"; sentence: string };
const WORDS: Record<Schemas["LiftDecision"], [string, Verdict["tone"]]> = {
  collecting: ["collecting", "accent"],
  positive: ["helps", "good"],
  negative: ["harms", "bad"],
  no_effect_at_precision: ["no effect that matters", "neutral"],
  inconclusive: ["not decided", "neutral"],
};

export function verdictOf(results: Results): Verdict {
  const { decision } = results;
  if (decision.decision === null) return { word: "unhealthy", tone: "warn", sentence: decision.sentence };
  if (results.experiment.ended_at != null && ["collecting", "inconclusive"].includes(decision.decision)) {
    return { word: "undecided", tone: "neutral", sentence: "It ended before the answer was clear." };
  }
  const [word, tone] = WORDS[decision.decision];
  return { word, tone, sentence: decision.sentence };
}
