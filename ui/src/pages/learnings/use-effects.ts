/** The effects of learnings in a window, as the overview has them. */
import { useQuery } from "@tanstack/react-query";
import { api, ok } from "../../api/client.ts";
import { type Effect, effectOf } from "../../lib/effect.ts";
import { rangeOf } from "../../lib/range.ts";
import { useUrlState } from "../../lib/url-state.ts";

export type Effects = {
  /** By kind and id; undefined if no session of the range cited it. */
  of: (kind: string, id: string | number) => Effect | undefined;
  all: Effect[];
  isPending: boolean;
};

/** Of the range that the address carries. */
export function useEffects(): Effects {
  const [params] = useUrlState();
  const range = rangeOf(params);
  const found = useQuery({
    queryKey: ["overview", "effects", range.key],
    staleTime: 60_000,
    queryFn: async () => {
      const { rule_attribution } = await ok(
        api.POST("/api/get_evaluation_overview", {
          body: { from_ts: range.from, to_ts: range.to, include_session_ids: false, include_shadow: false },
        }),
      );
      return new Map(rule_attribution.map((rule) => [`${rule.kind}:${rule.rule_id}`, effectOf(rule)]));
    },
  });
  return {
    of: (kind, id) => found.data?.get(`${kind}:${id}`),
    all: [...(found.data?.values() ?? [])],
    isPending: found.isPending,
  };
}
