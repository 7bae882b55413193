/** What the newest verdicts say of each learning, summed up in the browser. */
import { useQuery } from "@tanstack/react-query";
import { api, ok } from "../../api/client.ts";

export type Impact = {
  judged: number;
  relevant: number;
  positive: number;
  negative: number;
  neutral: number;
  /** Why it went wrong, most frequent first. */
  diagnoses: [category: string, count: number][];
  /** A session in which it did harm. */
  example: { user_id: string; session_id: string; turn: number | null; reason: string } | null;
};

const POOL = 1000;

/** By `kind:id`. `pool` says how many verdicts it stands on. */
export function useImpact() {
  return useQuery({
    queryKey: ["impact"],
    staleTime: 60_000,
    queryFn: async () => {
      const { results } = await ok(
        api.POST("/api/get_retrieved_learning_evaluation_results", { body: { limit: POOL } }),
      );
      const found = new Map<string, Impact & { counts: Map<string, number> }>();
      for (const verdict of results) {
        const key = `${verdict.kind}:${verdict.learning_id}`;
        const sum = found.get(key) ?? {
          judged: 0,
          relevant: 0,
          positive: 0,
          negative: 0,
          neutral: 0,
          diagnoses: [],
          example: null,
          counts: new Map(),
        };
        sum.judged += 1;
        if (verdict.is_relevant) sum.relevant += 1;
        if (verdict.impact === "positive" || verdict.impact === "negative" || verdict.impact === "neutral")
          sum[verdict.impact] += 1;
        const diagnosis = verdict.diagnosis as { category: string; reason: string } | null | undefined;
        if (verdict.impact === "negative") {
          if (diagnosis) sum.counts.set(diagnosis.category, (sum.counts.get(diagnosis.category) ?? 0) + 1);
          sum.example ??= {
            user_id: verdict.user_id,
            session_id: verdict.session_id,
            turn: verdict.interaction_id ?? null,
            reason: diagnosis?.reason ?? verdict.impact_reason,
          };
        }
        found.set(key, sum);
      }
      for (const sum of found.values()) sum.diagnoses = [...sum.counts].sort((a, b) => b[1] - a[1]);
      return {
        pool: results.length,
        isAll: results.length < POOL,
        of: (kind: string, id: string | number): Impact | undefined => found.get(`${kind}:${id}`),
      };
    },
  });
}
