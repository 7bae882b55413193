/** One experiment: did it work, can it be trusted, and for whom. */
import { useParams, Link } from "react-router";
import { saveAs } from "../../api/client.ts";
import type { Results } from "../../api/types.ts";
import { ChartCard, shownAs } from "../../charts/frame.tsx";
import { type IntervalRow, Intervals } from "../../charts/intervals.tsx";
import { at, count, ends, fixed, onDate, percent, points, signed, words } from "../../lib/format.ts";
import { Button } from "../../parts/controls.tsx";
import * as Icon from "../../parts/icons.tsx";
import { Badge, Card, Facts, Page, Skeleton, Trouble } from "../../parts/page.tsx";
import { AboutCard } from "./about.tsx";
import { Arms } from "./arms.tsx";
import { forecastOf } from "./forecast.ts";
import { Health } from "./health.tsx";
import { LiftOverTime } from "./looks.tsx";
import { Guardrails, Segments } from "./segments.tsx";
import { StopExperiment } from "./stop.tsx";
import { WeeklyLift } from "./weeks.tsx";
import { useResults, verdictOf } from "./use-results.ts";

export default function ResultsPage() {
  const { experimentId = "" } = useParams();
  const results = useResults(experimentId);
  const data = results.data;
  const lead = data && (
    <>
      <Link to="/experiments" className="text-accent underline">
        Experiments
      </Link>{" "}
      · {data.experiment.holdout_percentage} % held out, {onDate(data.experiment.started_at)}{" "}
      {data.experiment.ended_at ? `to ${onDate(data.experiment.ended_at)}` : "until now"}
    </>
  );
  const exported = () =>
    data &&
    saveAs(new Blob([JSON.stringify(data, null, 2)], { type: "application/json" }), `${experimentId}-results.json`);
  return (
    <Page
      title={experimentId}
      lead={lead}
      actions={
        data && (
          <>
            {data.experiment.ended_at == null && <StopExperiment experimentId={experimentId} />}
            <Button onClick={exported}>
              <Icon.Download />
              Results
            </Button>
            <a
              className="inline-flex h-9 items-center gap-1.5 rounded-lg border border-line-strong bg-panel px-3.5 font-medium hover:bg-raised"
              href={`/api/retrieval_experiments/${encodeURIComponent(experimentId)}/export`}
              download>
              <Icon.Download />
              Rows
            </a>
          </>
        )
      }>
      {results.isError && <Trouble error={results.error} retry={() => results.refetch()} />}
      {!data ? !results.isError && <Skeleton height={420} className="rounded-xl" /> : <Body data={data} />}
    </Page>
  );
}

function Body({ data }: { data: Results }) {
  const rows = intervalRows(data);
  const table = {
    columns: ["estimate", "lift pp", "low 95 %", "high 95 %", "meaning"],
    rows: rows.map((r) => [r.name, r.value, r.low, r.high, r.about]),
    shown: shownAs(points, "lift pp", "low 95 %", "high 95 %"),
  };
  return (
    <>
      <Headline data={data} />
      <AboutCard experimentId={data.experiment.experiment_id} about={data.about} />
      <ChartCard
        title="Lift in success rate"
        lead="percentage points, treatment minus holdout; intervals are clustered by user"
        data={table}
        file={`${data.experiment.experiment_id}-lift`}>
        <Intervals label="Lift in success rate with intervals" rows={rows} />
      </ChartCard>
      <div className="grid items-start gap-4 xl:grid-cols-2">
        <Health
          health={data.health}
          decision={data.decision.decision}
          coverage={data.evaluated_session_coverage}
          unattributed={data.unattributed_evaluated_session_count}
        />
        <Arms data={data} />
      </div>
      <LiftOverTime data={data} />
      <WeeklyLift data={data} />
      <Segments segments={data.segments} />
      <div className="grid items-start gap-4 xl:grid-cols-2">
        <Guardrails guardrails={data.guardrails} />
        <Reading data={data} />
      </div>
    </>
  );
}

function Headline({ data }: { data: Results }) {
  const verdict = verdictOf(data);
  const forecast = forecastOf(data, Date.now() / 1000);
  const interval = data.confidence_interval_95_percentage_points;
  return (
    <Card>
      <div className="flex flex-wrap items-center gap-x-10 gap-y-4 py-1">
        <div>
          <div className="label">Lift in success rate</div>
          <div
            className={`num leading-none font-semibold ${forecast ? "text-[1.4rem] text-soft" : "text-[2.9rem] tracking-[-0.04em]"}`}
            data-testid="lift">
            {points(data.success_rate_lift_percentage_points)}
          </div>
          <p className="num mt-2 text-soft">
            {interval
              ? `95 % interval ${ends(interval)} pp`
              : `no interval: ${words(data.inference.interval_null_reason) || "too few users"}`}
            {data.relative_success_lift != null && `, ${signed(data.relative_success_lift * 100)} % relative`}
          </p>
        </div>
        <div className="min-w-[260px] flex-1">
          <p className="mb-1.5">
            <Badge tone={verdict.tone}>{verdict.word}</Badge>
          </p>
          <p className="text-[1.1rem] leading-snug font-medium" data-testid="decision">
            {forecast ? `Too early to decide: ${forecast}` : verdict.sentence}
          </p>
          <p className="num mt-1 text-soft">
            {percent(data.treatment.success_rate)} of {count(data.treatment.evaluated_session_count)} sessions with
            retrieval succeed, {percent(data.holdout.success_rate)} of {count(data.holdout.evaluated_session_count)}{" "}
            without.
          </p>
        </div>
      </div>
    </Card>
  );
}

/** Every estimate of the same thing with what it means, the headline first. Before it may be decided on, nothing else is
 * drawn: with few users the others can look certain by chance. */
export function intervalRows(data: Results): IntervalRow[] {
  const row = (name: string, about: string, value: number | null, pair: number[] | null | undefined): IntervalRow => ({
    name,
    about,
    value,
    low: pair?.[0] ?? null,
    high: pair?.[1] ?? null,
  });
  const { always_valid, cuped, judge, delivery, robustness, health } = data;
  const lift = data.success_rate_lift_percentage_points;
  const isEarly = data.decision.decision === "collecting";
  const daily = "The same lift with an interval that holds however often one looks; decisions are made by it.";
  const why = words(data.always_valid_null_reason) || "not yet";
  const rows = [
    {
      ...row(
        "Headline, 95 %",
        "Success with retrieval minus success without; the interval holds if one looks once.",
        lift,
        data.confidence_interval_95_percentage_points,
      ),
      strong: true,
    },
    always_valid
      ? row("Safe to read daily", daily, lift, always_valid.interval_pp)
      : {
          ...row("Safe to read daily", `${daily} Not yet: ${why}.`, null, null),
          note: isEarly ? "too early" : "not yet",
        },
  ];
  if (isEarly) return rows;
  if (cuped)
    rows.push(
      row(
        "With users' history",
        "The lift after taking out how users did before the experiment.",
        cuped.lift_pp,
        cuped.interval_95_pp,
      ),
    );
  if (judge.corrected_lift_pp !== null)
    rows.push(
      row(
        "Judge's errors out",
        "The lift as people's labels and reported outcomes would have it; wide where they are few.",
        judge.corrected_lift_pp,
        judge.corrected_interval_95_pp,
      ),
    );
  if (delivery?.triggered.lift_pp != null)
    rows.push(
      row(
        "Where something was found",
        "Only sessions whose search found a learning, which the holdout did not get.",
        delivery.triggered.lift_pp,
        delivery.triggered.interval_95_pp,
      ),
    );
  if (robustness)
    rows.push(
      row(
        "Each user counts once",
        "Users weigh the same, however many sessions they have.",
        robustness.user_weighted_lift_pp,
        robustness.user_weighted_interval_95_pp,
      ),
    );
  if (health.worst_case_lift_pp)
    rows.push(
      row(
        "If unjudged were worst case",
        "The lifts that are possible if every session without a verdict had gone against one arm or the other.",
        null,
        health.worst_case_lift_pp,
      ),
    );
  return rows;
}

function Reading({ data }: { data: Results }) {
  const { delivery, interference, judge, robustness, analysis, trend } = data;
  return (
    <Card title="How to read it">
      <p className="mb-3 text-soft">{data.inference.estimand}</p>
      <Facts
        rows={[
          [
            "p",
            data.inference.p_value === null
              ? "–"
              : data.inference.p_value < 0.001
                ? "under 0.001"
                : data.inference.p_value.toFixed(3),
          ],
          delivery && [
            "Really got a learning",
            `${percent(delivery.treatment_share)} of treatment, ${percent(delivery.holdout_share)} of holdout`,
          ],
          delivery?.complier_effect_pp != null && ["Effect on those", points(delivery.complier_effect_pp)],
          interference && [
            "From holdout users' lessons",
            percent(interference.share_from_playbooks_with_holdout_sources),
          ],
          [
            "Judges",
            judge.epochs.map((e) => `${e.judge} ${e.prompt_version}`).join(", ") +
              (judge.mixed ? " (mixed: compare with care)" : ""),
          ],
          robustness && ["Largest user's share", percent(robustness.largest_user_share, 2)],
          robustness?.reassignment && [
            "Users assigned anew",
            `p = ${fixed(robustness.reassignment.p_value, 3)} in ${count(robustness.reassignment.repetitions)} draws`,
          ],
          trend.slope_pp_per_week !== null && [
            "Change per week",
            `${points(trend.slope_pp_per_week)}${trend.slope_p_value !== null && trend.slope_p_value > 0.05 ? ", may be chance" : ""}`,
          ],
          [
            "Computed",
            `${at(analysis.as_of)}, version ${analysis.version}, digest ${analysis.input_digest.slice(0, 12)}…`,
          ],
        ]}
      />
    </Card>
  );
}
