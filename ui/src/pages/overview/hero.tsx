/** The one number, large, with everything that says how far it can be trusted. */
import { Link } from "react-router";
import type { Schemas } from "../../api/client.ts";
import type { Overview } from "../../api/types.ts";
import { count, fixed, percent, plural, points } from "../../lib/format.ts";
import type { Range } from "../../lib/range.ts";
import { Card, Empty, Note } from "../../parts/page.tsx";
import type { Estimate } from "./estimated.tsx";
import { tone } from "./tiles.tsx";
import { TrendCard } from "./trend-card.tsx";
import type { View } from "./use-overview.ts";
import type { Version } from "./versions.ts";

type Props = {
  view: View;
  state: Overview["hero"]["state"];
  range: Range;
  health: Schemas["JudgeHealth"] | undefined;
  scoped: string | null;
  version: string | null;
  versions: Version[];
  /** The rate over all sessions that were due, where it can be told. */
  estimate: Estimate | undefined;
};

export function Hero({ view, state, range, health, scoped, version, versions, estimate }: Props) {
  if (state === "empty") return version === null ? <Nothing health={health} /> : <NothingOf version={version} />;
  const { hero, context_tiles: tiles } = view;
  const delta = tiles.success.delta_pp;
  const changed = tone(tiles.success, "up");
  const estimated = abstains(hero) ? estimate : undefined;
  return (
    <div className="grid gap-4 lg:grid-cols-[290px_1fr]">
      <Card
        title={[
          estimated ? "Estimated success rate" : hero.only_rules ? "Failures with evidence" : "Success rate",
          scoped,
          version,
        ]
          .filter((part) => part !== null)
          .join(", ")}
        lead={
          estimated
            ? "all sessions of the range, judged or not"
            : hero.only_rules
              ? "sessions of the range"
              : "judged sessions of the range"
        }>
        {estimated ? (
          <EstimatedRate estimate={estimated} />
        ) : hero.only_rules ? (
          <FailuresWithEvidence hero={hero} />
        ) : (
          <SuccessRate hero={hero} />
        )}
        <dl className="num mt-4 flex flex-col gap-2 border-t border-line pt-3.5 text-[0.93rem]">
          {estimated && !hero.only_rules && (
            <Row name="Success of the judged">
              <span data-testid="success-of-the-judged">{fixed(hero.regular_success_rate_pp)} %</span>
            </Row>
          )}
          <Row name="Judged sessions">
            <span data-testid="judged-sessions">{count(hero.n)}</span>
          </Row>
          <Row name="Judged of what was due">
            <span data-testid="judged-share">{percent(hero.judged_share)}</span>
          </Row>
          <Row name="Last 7 days against before">
            <span className={changed ? `text-${changed}` : ""}>{delta == null ? "nothing before" : points(delta)}</span>
          </Row>
          <Row name="Decided lately">
            <Coverage health={health} />
          </Row>
        </dl>
        <div className="mt-3.5">
          <NextStep state={state} />
        </div>
      </Card>
      <TrendCard hero={hero} range={range} source={scoped} version={version} versions={versions} />
    </div>
  );
}

/** True if the judge leaves sessions without a verdict: those it decides are not like the others. */
const abstains = (hero: View["hero"]) => hero.judged_share != null && hero.judged_share < 0.99;

function EstimatedRate({ estimate }: { estimate: Estimate }) {
  const { value, ci95 } = estimate.estimated;
  return (
    <>
      <Large id="estimated-rate" value={fixed(100 * (value ?? 0))} unit="%" />
      <p className="num mt-2 text-soft">
        {ci95 && `95 % interval ${percent(ci95[0])} to ${percent(ci95[1])}; `}
        the judge's verdicts, corrected by {plural(estimate.labels, "label")} drawn at random
      </p>
    </>
  );
}

function Large({ id, value, unit }: { id: string; value: string; unit?: string }) {
  return (
    <div className="num text-[3.3rem] leading-none font-semibold tracking-[-0.04em]" data-testid={id}>
      {value}
      {unit && <span className="text-[1.5rem] font-medium tracking-normal text-soft"> {unit}</span>}
    </div>
  );
}

function SuccessRate({ hero }: { hero: View["hero"] }) {
  return (
    <>
      <Large id="success-rate" value={fixed(hero.regular_success_rate_pp)} unit="%" />
      <p className="num mt-2 text-soft">
        {hero.ci95_pp
          ? `95 % interval ${fixed(hero.ci95_pp[0])} to ${fixed(hero.ci95_pp[1])} %${hero.few_users ? ", of few users" : ""}`
          : "too few users for an interval"}
      </p>
    </>
  );
}

/** Rules see failures and hardly a success: a rate of what they decide would mislead. */
function FailuresWithEvidence({ hero }: { hero: View["hero"] }) {
  return (
    <>
      <Large id="failures" value={count(hero.failures_with_evidence)} />
      <p className="mt-2 text-soft">{hero.advice}</p>
    </>
  );
}

function Row({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div className="flex items-baseline justify-between gap-3">
      <dt className="text-faint">{name}</dt>
      <dd className="font-medium">{children}</dd>
    </div>
  );
}

/** How many of the sessions decided in the last seven days have a verdict. */
function Coverage({ health }: { health: Schemas["JudgeHealth"] | undefined }) {
  if (!health) return <>…</>;
  const judged = health.decisions.find((d) => d.decision === "judged")?.count ?? 0;
  const all = health.decisions.reduce((sum, d) => sum + d.count, 0);
  if (all === 0) return <>–</>;
  return (
    <Link className="underline decoration-line-strong underline-offset-3 hover:decoration-accent" to="/jobs">
      {fixed((100 * judged) / all)} % of {count(all)}
    </Link>
  );
}

/** Each state of the data teaches what to do next. */
function NextStep({ state }: { state: Overview["hero"]["state"] }) {
  if (state === "shadow_off") {
    return (
      <Note>
        Compare with another agent: publish its answers as <code>shadow_content</code>, and each turn is judged against
        yours.
      </Note>
    );
  }
  if (state === "early") {
    return (
      <Note tone="warn">
        Early days: under 14 days of results or under 500 comparisons. Trust the interval, not the digit.
      </Note>
    );
  }
  return null;
}

function NothingOf({ version }: { version: string }) {
  return (
    <Card>
      <Empty title={`No session of ${version} was judged in this range`}>
        Choose a longer range or another version above.
      </Empty>
    </Card>
  );
}

function Nothing({ health }: { health: Schemas["JudgeHealth"] | undefined }) {
  const decided = (decision: string) => health?.decisions.find((d) => d.decision === decision)?.count ?? 0;
  if (decided("judged") > 0) {
    return (
      <Card>
        <Empty title="Nothing was judged in this range">Choose a longer range above.</Empty>
      </Card>
    );
  }
  const undecided = decided("undecided");
  if (undecided > 0) {
    return (
      <Card>
        <Empty title={`${count(undecided)} ${undecided === 1 ? "session has" : "sessions have"} no verdict`}>
          Nothing in them shows how they ended. Say what became of some on the{" "}
          <Link className="underline" to="/review">
            Review
          </Link>{" "}
          page, or publish outcomes: from fifty on, a judge learns from them.
        </Empty>
      </Card>
    );
  }
  return (
    <Card>
      <Empty title="Nothing is judged yet">
        Sessions are judged when they are finished, or were quiet for a while. The first verdict appears here by itself.{" "}
        <Link className="underline" to="/connect">
          How to send sessions
        </Link>
      </Empty>
    </Card>
  );
}
