/** What verdicts say about each learning, with how sure that is. */
import { useQuery } from "@tanstack/react-query";
import { api, ok, type Schemas } from "../../api/client.ts";
import { count, percent, plural, points, signed, words } from "../../lib/format.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { type Effect, effectText, worstFirst } from "../../lib/effect.ts";
import { Segmented } from "../../parts/controls.tsx";
import { SearchField, usePages } from "../../parts/listing.tsx";
import * as Icon from "../../parts/icons.tsx";
import { Badge, Card, Empty, Facts, Skeleton, Trouble } from "../../parts/page.tsx";
import { agentPlaybooks } from "./all-playbooks.ts";
import { Provenance } from "./provenance.tsx";
import { useEffects } from "./use-effects.ts";

type Score = Schemas["Score"];
type TrialEffect = NonNullable<Score["trial_effect"]>;
const KINDS = [
  ["", "All"],
  ["agent_playbook", "Agent playbooks"],
  ["user_playbook", "User playbooks"],
  ["profile", "Profiles"],
] as const;
const TONES = { helps: "good", hurts: "bad", unclear: "neutral" } as const;

export function Scorecard() {
  const [params, change] = useUrlState();
  const kind = KINDS.find(([name]) => name === params.get("kind"))?.[0] ?? "";
  const card = useQuery({
    queryKey: ["scorecard", kind],
    queryFn: () =>
      ok(api.GET("/api/learnings/scorecard", { params: { query: { limit: 1000, ...(kind ? { kind } : {}) } } })),
  });
  const open = params.get("open");
  const effects = useEffects();
  const playbooks = useQuery(agentPlaybooks);
  /** A playbook has the same name here as everywhere; the others are known by their text. */
  const titleOf = ({ kind, learning_id, title }: Score) =>
    (kind === "agent_playbook" &&
      playbooks.data?.agent_playbooks.find((p) => String(p.agent_playbook_id) === learning_id)?.playbook_name) ||
    title;
  const effect = (score: Score) => effects.of(score.kind, score.learning_id);
  // Those without an effect keep the server's order, which goes by verdicts.
  const scores = [...(card.data?.scores ?? [])].sort((a, b) => worstFirst(effect(a), effect(b)));
  const text = params.get("text")?.toLowerCase() ?? "";
  const found = scores.filter((score) => `${titleOf(score)} ${score.title}`.toLowerCase().includes(text));
  const [shown, more] = usePages(found, `${kind} ${text}`);
  return (
    <Card
      flush
      title={plural(found.length, "judged learning")}
      lead="those that hurt first: by their effect as on the overview, or else by verdicts of the last 90 days on the present text"
      aside={
        <span className="flex flex-wrap gap-2">
          <SearchField label="Search learnings" />
          <Segmented label="Kind" value={kind} options={KINDS} onChange={(k) => change({ kind: k, open: null })} />
        </span>
      }>
      {card.isError && (
        <div className="px-5 pb-5">
          <Trouble error={card.error} retry={() => card.refetch()} />
        </div>
      )}
      {card.isPending && (
        <div className="px-5 pb-5">
          <Skeleton height={240} />
        </div>
      )}
      {card.data?.scores.length === 0 && (
        <Empty title="No verdicts yet">
          Send <code>retrieved_learnings</code> with the turns they were put before, and each of them is judged with its
          session.
        </Empty>
      )}
      <ul className="border-t border-line">
        {shown.map((score) => {
          const key = `${score.kind}:${score.learning_id}`;
          return (
            <Row
              key={key}
              score={score}
              title={titleOf(score)}
              effect={effect(score)}
              open={open === key}
              onToggle={() => change({ open: open === key ? null : key })}
            />
          );
        })}
      </ul>
      {more}
    </Card>
  );
}

type RowProps = { score: Score; title: string; effect: Effect | undefined; open: boolean; onToggle: () => void };

function Row({ score, title, effect, open, onToggle }: RowProps) {
  const { attributable_impact: impact } = score;
  // The badge and the number beside it say the same.
  const standing = effect && effect.value !== null ? (effect.standing ?? "unclear") : score.standing;
  return (
    <li className="border-b border-line last:border-0">
      <button
        type="button"
        aria-expanded={open}
        onClick={onToggle}
        className="grid w-full grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-1 px-5 py-2.5 text-left hover:bg-raised md:grid-cols-[minmax(0,1fr)_220px_110px_80px_20px]">
        <span className="min-w-0">
          <span className="block truncate font-medium">{title}</span>
          <span className="block truncate text-[0.87rem] text-faint">
            {words(score.kind)}
            {score.user_id && ` of ${score.user_id}`}
            {score.agent_version && `, ${score.agent_version}`}
          </span>
        </span>
        <span className="num text-[0.9rem] max-md:order-3">
          {effect && effect.value !== null
            ? effectText(effect)
            : `impact ${withInterval(impact.mean, impact.ci95, (n) => signed(n, 2))}`}
        </span>
        <span className="num text-[0.9rem] text-soft max-md:order-3">{plural(score.sessions, "session")}</span>
        <span>
          <Badge tone={TONES[standing]}>{standing}</Badge>
        </span>
        <Icon.Arrow className={`text-faint transition-transform max-md:hidden ${open ? "rotate-90" : ""}`} />
      </button>
      {open && <Detail score={score} />}
    </li>
  );
}

function Detail({ score }: { score: Score }) {
  const { relevance, impact, arm_lift: lift } = score;
  const interval = score.attributable_impact.ci95;
  return (
    <div className="flex flex-col gap-3.5 px-5 pb-5">
      <Facts
        rows={[
          [
            "Relevant",
            `${withInterval(relevance.rate, relevance.ci95, (n) => percent(n, 0))}, ${count(relevance.relevant)} of ${count(relevance.judged)}`,
          ],
          [
            "Impact",
            `${count(impact.positive)} helped, ${count(impact.neutral)} neutral, ${count(impact.negative)} harmed`,
          ],
          [
            "How sure",
            interval
              ? `clustered by ${score.attributable_impact.clustered_by}, ${count(score.attributable_impact.clusters)} of them`
              : "too few to tell",
          ],
          ["Judged in", `${plural(score.sessions, "session")} of ${plural(score.users, "person", "people")}`],
          [
            "Diagnoses",
            Object.entries(score.diagnoses)
              .map(([category, n]) => `${words(category)} ${n}×`)
              .join(", ") || "none that is verified",
          ],
          [
            "Arm lift",
            lift
              ? `${withInterval(lift.percentage_points, lift.ci95_percentage_points, points)}: ${plural(lift.treatment_sessions, "session")} served it, ${count(lift.holdout_sessions)} of the holdout (${lift.experiment_id}). It is served where it seems to fit, so this describes and does not prove.`
              : score.arm_lift_reason,
          ],
          score.trial_effect && ["Trial", trial(score.trial_effect)],
          score.outdated_verdicts > 0 && ["Left out", `${plural(score.outdated_verdicts, "verdict")} on an older text`],
        ]}
      />
      <Provenance kind={score.kind} id={score.learning_id} />
    </div>
  );
}

/** What a trial found, in a sentence. */
function trial(effect: TrialEffect): string {
  const users = `${count(effect.served.users)} users with it, ${count(effect.withheld.users)} without`;
  if (effect.effect == null) return `${words(effect.null_reason)} (${users})`;
  return `${words(effect.state)}: ${withInterval(effect.effect, anyDay(effect), points)}; ${users}, chosen at random`;
}

/** The interval that holds on whatever day one looks. */
const anyDay = (effect: TrialEffect) => [effect.always_valid_lower, effect.always_valid_upper];

/** A number with its 95 % interval, or a dash. */
function withInterval(value: number | null | undefined, interval: unknown, show: (n: number) => string): string {
  if (value == null) return "–";
  const ends = interval as [number, number] | null | undefined;
  return ends ? `${show(value)} (${show(ends[0])} to ${show(ends[1])})` : show(value);
}
