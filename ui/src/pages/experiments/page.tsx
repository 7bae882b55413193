/** Does what was learned actually help? Experiments that hold it back from some users to find out. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api, ok } from "../../api/client.ts";
import type { Experiment } from "../../api/types.ts";
import { ago, duration, onDate, plural } from "../../lib/format.ts";
import { QUIET_POLL_MS } from "../../lib/poll.ts";
import { Button } from "../../parts/controls.tsx";
import * as Icon from "../../parts/icons.tsx";
import { Badge, Card, Empty, Page, Skeleton, Trouble } from "../../parts/page.tsx";
import { forecastOf } from "./forecast.ts";
import { StopExperiment } from "./stop.tsx";
import { useResults, verdictOf } from "./use-results.ts";
import { StartExperiment } from "./start.tsx";

export default function ExperimentsPage() {
  const [starting, setStarting] = useState(false);
  const list = useQuery({
    queryKey: ["experiments"],
    refetchInterval: QUIET_POLL_MS,
    queryFn: () => ok(api.GET("/api/retrieval_experiments")),
  });
  const active = list.data?.active_experiment ?? null;
  return (
    <Page
      title="Experiments"
      lead="Some users are held out: their searches find nothing that was learned. The difference is what learning is worth."
      actions={
        <Button
          look="primary"
          disabled={!list.data || active !== null}
          title={active ? "One at a time: stop the active one first" : undefined}
          onClick={() => setStarting(true)}>
          Start an experiment
        </Button>
      }>
      {list.isError && <Trouble error={list.error} retry={() => list.refetch()} />}
      {list.isPending && <Skeleton height={200} className="rounded-xl" />}
      {list.data && (
        <Card flush title={plural(list.data.experiments.length, "experiment")} lead="newest first">
          {list.data.experiments.length === 0 ? (
            <Empty
              title="No experiment yet"
              action={
                <Button look="primary" onClick={() => setStarting(true)}>
                  Start the first one
                </Button>
              }>
              Hold learned context back from a few percent of users for some weeks. Evenhand assigns them, keeps the
              arms apart and tells you whether the difference is real.
            </Empty>
          ) : (
            <ul className="border-t border-line">
              {list.data.experiments.map((experiment) => (
                <li key={experiment.experiment_id} className="border-b border-line last:border-0">
                  <Line experiment={experiment} />
                </li>
              ))}
            </ul>
          )}
        </Card>
      )}
      <StartExperiment open={starting} onClose={() => setStarting(false)} />
    </Page>
  );
}

function Line({ experiment }: { experiment: Experiment }) {
  const results = useResults(experiment.experiment_id);
  const active = experiment.ended_at == null;
  const length = (experiment.ended_at ?? Date.now() / 1000) - experiment.started_at;
  const verdict = results.data && verdictOf(results.data);
  const forecast = results.data && forecastOf(results.data, Date.now() / 1000);
  return (
    <div className="flex items-center gap-2 pr-4 hover:bg-raised">
      <Link
        to={`/experiments/${encodeURIComponent(experiment.experiment_id)}`}
        className="grid min-w-0 flex-1 grid-cols-[minmax(0,1fr)_auto] items-center gap-x-5 gap-y-1 px-5 py-3 md:grid-cols-[minmax(0,1fr)_minmax(0,1.3fr)_20px]">
        <span className="min-w-0">
          <span className="flex items-center gap-2">
            <span className="truncate font-medium">{experiment.experiment_id}</span>
            {active && <Badge tone="accent">active</Badge>}
          </span>
          <span className="block text-[0.87rem] text-faint">
            {experiment.holdout_percentage} % held out ·{" "}
            {active
              ? `since ${onDate(experiment.started_at)}`
              : `${onDate(experiment.started_at)}, ${duration(length)}`}{" "}
            · {ago(experiment.started_at)}
            {results.data?.about.owner && ` · ${results.data.about.owner}`}
          </span>
        </span>
        <span className="min-w-0 max-md:col-span-2">
          {verdict ? (
            <>
              <Badge tone={verdict.tone}>{verdict.word}</Badge>{" "}
              <span className="text-soft">{forecast ?? verdict.sentence}</span>
            </>
          ) : (
            results.isPending && <span className="skeleton block h-4 w-40" />
          )}
        </span>
        <Icon.Arrow className="text-faint max-md:hidden" />
      </Link>
      <span className="flex w-[56px] justify-end max-md:w-auto">
        {active && <StopExperiment experimentId={experiment.experiment_id} small />}
      </span>
    </div>
  );
}
