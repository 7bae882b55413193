/** Alerts: rules that watch a metric, how they stand, and what they found. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ok, type Schemas, type Session } from "../../api/client.ts";
import { at, count, fixed, percent, plural, words } from "../../lib/format.ts";
import { QUIET_POLL_MS } from "../../lib/poll.ts";
import { Button, Select, TextField } from "../../parts/controls.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Badge, Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";
import { AskBefore, ListCard } from "./list-card.tsx";

type Rule = Schemas["AlertRule"];
type Metric = Rule["metric"];
type Episode = Schemas["AlertEpisode"];

const METRICS: [Metric, string][] = [
  ["success_rate", "Success rate"],
  ["corrections", "Corrections per session"],
  ["turns_to_resolution", "Turns until success"],
  ["escalation_rate", "Sessions handed to a person"],
  ["system_error_rate", "Sessions with a system error"],
];
const nameOf = (metric: Metric) => METRICS.find(([one]) => one === metric)?.[1] ?? words(metric);
const isRate = (metric: Metric) => metric.endsWith("_rate");
const shown = (metric: Metric, value: number) => (isRate(metric) ? percent(value) : fixed(value, 2));

const TONES: Record<Rule["state"], "good" | "bad" | "neutral"> = {
  collecting: "neutral",
  quiet: "good",
  worse: "bad",
  still_worse: "bad",
  recovered: "good",
  settled: "neutral",
};

export function Alerts({ session }: { session: Session }) {
  const [adding, setAdding] = useState(false);
  const rules = useQuery({
    queryKey: ["alerts"],
    queryFn: () => ok(api.GET("/api/alerts")),
    refetchInterval: QUIET_POLL_MS,
  });
  const mayChange = session.role !== "auditor";
  return (
    <>
      <ListCard
        query={rules}
        items={(data) => data.rules}
        title={plural(rules.data?.rules.length ?? 0, "rule")}
        lead="worse than in the four weeks before, as far as can be known"
        add={mayChange ? { text: "Add a rule", onClick: () => setAdding(true) } : undefined}
        empty={{
          title: "Nothing is watched yet",
          text: `A rule looks at a metric every hour and says when it is worse than in the four weeks before. It raises a
            false alarm in at most 3 of 100 stretches of sixty days. Webhooks that ask for alerts are told.`,
        }}
        line={(rule) => <Line key={rule.rule_id} rule={rule} mayChange={mayChange} />}
      />
      <AddRule open={adding} onClose={() => setAdding(false)} />
    </>
  );
}

function Line({ rule, mayChange }: { rule: Rule; mayChange: boolean }) {
  const client = useQueryClient();
  const say = useSay();
  const [removing, setRemoving] = useState(false);
  const path = { rule_id: rule.rule_id };
  const refresh = () => client.invalidateQueries({ queryKey: ["alerts"] });
  const turn = useMutation({
    mutationFn: (enabled: boolean) => ok(api.PATCH("/api/alerts/{rule_id}", { params: { path }, body: { enabled } })),
    onSuccess: refresh,
  });
  const remove = useMutation({
    mutationFn: () => ok(api.DELETE("/api/alerts/{rule_id}", { params: { path } })),
    onSuccess: async () => {
      setRemoving(false);
      say("Deleted");
      await refresh();
    },
  });
  const size = isRate(rule.metric) ? `${rule.smallest_change} points` : `${rule.smallest_change} %`;
  return (
    <li className="border-b border-line px-5 py-2.5 last:border-0">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <span className={`min-w-0 ${rule.enabled ? "" : "opacity-60"}`}>
          <span className="font-medium [overflow-wrap:anywhere]">{rule.name}</span>{" "}
          {rule.enabled ? (
            <Badge tone={TONES[rule.state]}>{words(rule.state)}</Badge>
          ) : (
            <Badge tone="neutral">off</Badge>
          )}
          <span className="block text-[0.84rem] [overflow-wrap:anywhere] text-faint">
            {nameOf(rule.metric)}
            {rule.source != null && `, source ${rule.source}`}
            {rule.agent_version != null && `, version ${rule.agent_version}`}, from {size} on
            {rule.reason != null && `; ${words(rule.reason)}`}
            {rule.looked_until != null && `; looked until ${at(rule.looked_until)}`}
          </span>
        </span>
        {mayChange && (
          <span className="flex gap-2">
            <Button small disabled={turn.isPending} onClick={() => turn.mutate(!rule.enabled)}>
              {turn.isPending ? "Turning…" : rule.enabled ? "Turn off" : "Turn on"}
            </Button>
            <Button small onClick={() => setRemoving(true)}>
              Delete
            </Button>
          </span>
        )}
      </div>
      {turn.isError && (
        <div className="mt-2">
          <Trouble error={turn.error} />
        </div>
      )}
      {rule.episodes.length > 0 && (
        <ul className="mt-2 flex flex-col gap-1 text-[0.87rem]" aria-label={`Episodes of ${rule.name}`}>
          {rule.episodes.slice(0, 5).map((episode) => (
            <EpisodeLine key={episode.raised_at} metric={rule.metric} episode={episode} />
          ))}
        </ul>
      )}
      <AskBefore
        title={`Delete ${rule.name}?`}
        text="Its history goes too. This cannot be undone."
        open={removing}
        onClose={() => setRemoving(false)}
        verb={["Delete", "Deleting…"]}
        action={remove}
      />
    </li>
  );
}

function EpisodeLine({ metric, episode }: { metric: Metric; episode: Episode }) {
  return (
    <li>
      <Badge tone={episode.cleared_at == null ? "bad" : "neutral"}>
        {episode.cleared_at == null ? "going on" : words(episode.cleared_as)}
      </Badge>{" "}
      since {at(episode.worse_since)}: {shown(metric, episode.mean_since)} instead of{" "}
      {shown(metric, episode.mean_before)}, {count(Math.round(episode.sessions))} sessions
      {episode.cleared_at != null && `, until ${at(episode.cleared_at)}`}
    </li>
  );
}

function AddRule({ open, onClose }: { open: boolean; onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [metric, setMetric] = useState<Metric>("success_rate");
  const [source, setSource] = useState("");
  const [version, setVersion] = useState("");
  const [size, setSize] = useState("");
  const close = async () => {
    create.reset();
    setName("");
    onClose();
    await client.invalidateQueries({ queryKey: ["alerts"] });
  };
  const create = useMutation({
    mutationFn: () =>
      ok(
        api.POST("/api/alerts", {
          body: {
            name: name.trim() || nameOf(metric),
            metric,
            source: source.trim() || null,
            agent_version: version.trim() || null,
            smallest_change: size === "" ? null : Number(size),
          },
        }),
      ),
    onSuccess: () => close(),
  });
  return (
    <Dialog title="Add a rule" open={open} onClose={close}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(e) => {
          e.preventDefault();
          create.mutate();
        }}>
        <Select
          label="What is watched"
          value={metric}
          onChange={(e) => setMetric(e.target.value as Metric)}
          options={METRICS}
        />
        <TextField
          label="Name"
          value={name}
          onChange={(e) => setName(e.target.value)}
          placeholder={nameOf(metric)}
          maxLength={255}
        />
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Only this source"
            value={source}
            onChange={(e) => setSource(e.target.value)}
            placeholder="All sources"
            maxLength={255}
          />
          <TextField
            label="Only this version"
            value={version}
            onChange={(e) => setVersion(e.target.value)}
            placeholder="All versions"
            maxLength={255}
          />
        </div>
        <TextField
          label={isRate(metric) ? "Worth an alert from (points)" : "Worth an alert from (% of the mean)"}
          type="number"
          min={0.1}
          max={100}
          step="any"
          value={size}
          onChange={(e) => setSize(e.target.value)}
          placeholder={isRate(metric) ? "3" : "10"}
        />
        {create.isError && <Trouble error={create.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>Cancel</Button>
          <Button look="primary" type="submit" disabled={create.isPending}>
            {create.isPending ? "Adding…" : "Add it"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
