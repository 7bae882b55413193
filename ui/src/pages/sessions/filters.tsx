/** What the list is narrowed by. */
import { useQuery } from "@tanstack/react-query";
import { api, ok } from "../../api/client.ts";
import { sourceName } from "../../lib/format.ts";
import type { Range } from "../../lib/range.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Segmented, Select } from "../../parts/controls.tsx";
import { SearchField } from "../../parts/listing.tsx";
import { nameOf, ORDERS, read, textOf, useOrder } from "./order.ts";

const VERDICTS = [
  ["", "All"],
  ["success", "Succeeded"],
  ["failure", "Failed"],
  ["none", "Not judged"],
] as const;

export function Filters({ range }: { range: Range }) {
  const [params, change] = useUrlState();
  const [order, sortBy] = useOrder();
  const choices = useChoices(range);
  const { experiments = [] } = choices.data ?? {};
  const isNamed = ORDERS.some(([text]) => text === textOf(order));
  return (
    <div className="flex flex-wrap items-end gap-3" role="search" aria-label="Filter sessions">
      <SearchField
        hidden={false}
        name="text"
        label="Text"
        placeholder="Some turn contains…"
        className="min-w-[180px] flex-1"
      />
      <SearchField hidden={false} name="user" label="User" placeholder="Exact user id" className="w-[170px]" />
      <Choice name="source" label="Source" known={choices.data?.sources ?? []} />
      <Choice name="version" label="Agent version" known={choices.data?.versions ?? []} />
      {(experiments.length > 0 || params.get("experiment")) && (
        <Choice name="experiment" label="Experiment" known={experiments} />
      )}
      {params.get("experiment") && <Choice name="arm" label="Arm" known={["treatment", "holdout"]} any="Both" />}
      {params.get("corrections") && (
        <Choice name="corrections" label="Corrections" known={["0", "1", "2", "3", "4", "5+"]} />
      )}
      <Select
        label="Order"
        value={textOf(order)}
        options={isNamed ? ORDERS : [...ORDERS, [textOf(order), nameOf(order)]]}
        onChange={(e) => sortBy(read(e.target.value))}
      />
      <Segmented
        label="Verdict"
        value={(params.get("verdict") ?? "") as (typeof VERDICTS)[number][0]}
        options={VERDICTS}
        onChange={(verdict) => change({ verdict })}
      />
    </div>
  );
}

/** Sources and versions with a verdict in the range, and those of the newest sessions; all experiments. */
function useChoices(range: Range) {
  return useQuery({
    queryKey: ["session-choices", range.key],
    staleTime: 60_000,
    queryFn: async () => {
      const [{ sessions }, { experiments }, overview] = await Promise.all([
        ok(api.GET("/api/sessions", { params: { query: { limit: 200 } } })),
        ok(api.GET("/api/retrieval_experiments")),
        ok(
          api.POST("/api/get_evaluation_overview", {
            body: {
              from_ts: range.from,
              to_ts: range.to,
              include_session_ids: false,
              include_shadow: false,
              include_rules: false,
              // Sources are told only of a comparison between some.
              source_sets: [{ label: "any", sources: [""] }],
            },
          }),
        ),
      ]);
      const sources = [
        ...(overview.source_set_comparison?.available_sources ?? []),
        ...sessions.map(({ source }) => source),
      ];
      const versions = [...overview.available_agent_versions, ...sessions.map(({ agent_version }) => agent_version)];
      return {
        sources: [...new Set(sources)].sort(),
        versions: [...new Set(versions)].sort(),
        experiments: experiments.map(({ experiment_id }) => experiment_id),
      };
    },
  });
}

/** One of the known, or any. What the address asks for stays a choice when it is not among them. */
function Choice({ name, label, known, any = "Any" }: { name: string; label: string; known: string[]; any?: string }) {
  const [params, change] = useUrlState();
  const value = params.get(name) ?? "";
  const names = value && !known.includes(value) ? [...known, value] : known;
  return (
    <Select
      label={label}
      value={value}
      className="max-w-[190px]"
      options={[["", any], ...names.filter(Boolean).map((one): [string, string] => [one, sourceName(one)])]}
      onChange={(e) => change({ [name]: e.target.value })}
    />
  );
}
