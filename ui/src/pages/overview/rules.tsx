/** Which learnings help and which harm, around zero with intervals. */
import { Link } from "react-router";
import type { Rule } from "../../api/types.ts";
import { ChartCard, shownAs } from "../../charts/frame.tsx";
import { EffectPlot } from "../../charts/effect-plot.tsx";
import { type Effect, effectOf, effectText, reachOf, worstFirst } from "../../lib/effect.ts";
import { count, percent, points, words } from "../../lib/format.ts";
import { type Range, rangeParams } from "../../lib/range.ts";
import { Empty } from "../../parts/page.tsx";

const POINTS = [
  "difference (points)",
  "difference low 95 %",
  "difference high 95 %",
  "effect by trial (points)",
  "effect low 95 %",
  "effect high 95 %",
];

export function Rules({ rules, range, version }: { rules: Rule[]; range: Range; version: string | null }) {
  const data = {
    columns: [
      "rule",
      "kind",
      "title",
      "successes with",
      "failures with",
      "net sessions",
      "success low 95 %",
      "success high 95 %",
      "difference (points)",
      "difference low 95 %",
      "difference high 95 %",
      "marked",
      "trial",
      "effect by trial (points)",
      "effect low 95 %",
      "effect high 95 %",
    ],
    rows: rules.map((r) => [
      r.rule_id,
      r.kind,
      r.title,
      r.successes_with,
      r.failures_with,
      r.net_sessions,
      r.success_rate_ci95?.[0],
      r.success_rate_ci95?.[1],
      r.association.difference_pp,
      r.association.ci95_pp?.[0],
      r.association.ci95_pp?.[1],
      r.association.is_marked ? "yes" : "no",
      r.trial?.state,
      r.trial?.effect_pp,
      r.trial?.always_valid_ci95_pp?.[0],
      r.trial?.always_valid_ci95_pp?.[1],
    ]),
    shown: { ...shownAs(percent, "success low 95 %", "success high 95 %"), ...shownAs(points, ...POINTS) },
  };
  const listed = rules
    .map((rule) => ({ rule, effect: effectOf(rule) }))
    .sort((a, b) => worstFirst(a.effect, b.effect) || total(b.rule) - total(a.rule));
  const reach = reachOf(listed.map(({ effect }) => effect));
  return (
    <ChartCard
      title="What helped and what harmed"
      file="rules"
      data={data}
      lead="success with it minus success without it, in points, worst first; coloured where it is more than chance. By a trial: withheld at random. An association: compared with sessions of the same users, or of the same source and version, which is not a cause">
      {rules.length === 0 ? (
        <Empty title="No session cited a learning">
          When agents publish <code>citations</code>, each cited playbook or profile is credited with how its sessions
          went.
        </Empty>
      ) : (
        <ol className="flex flex-col">
          {listed.map(({ rule, effect }) => (
            <Line key={`${rule.kind}/${rule.rule_id}`} {...{ rule, effect, reach, range, version }} />
          ))}
        </ol>
      )}
    </ChartCard>
  );
}

const total = (rule: Rule) => rule.successes_with + rule.failures_with;

type LineProps = { rule: Rule; effect: Effect; reach: number; range: Range; version: string | null };

function Line({ rule, effect, reach, range, version }: LineProps) {
  const search = new URLSearchParams({ rule: `${rule.kind}:${rule.rule_id}`, ...rangeParams(range) });
  if (version) search.set("version", version);
  return (
    <li>
      <Link
        to={`/sessions?${search}`}
        title="Show the sessions that cited it"
        className={`group grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 rounded-md px-1.5 py-1.5 hover:bg-raised sm:grid-cols-[minmax(0,5fr)_minmax(110px,3fr)_168px] ${effect.standing ? "" : "text-faint"}`}>
        <span className="min-w-0">
          <span className="block truncate font-medium group-hover:underline">
            {rule.title || `${words(rule.kind)} ${rule.rule_id}`}
          </span>
          <span className="block truncate text-[0.82rem] text-faint">
            {words(rule.kind)} {rule.rule_id}
            {effect.value !== null && (effect.basis === "trial" ? ", by a trial" : ", an association")}
          </span>
        </span>
        <EffectPlot effect={effect} reach={reach} />
        <span className="num text-right text-[0.88rem]">
          <span className={effect.standing ? "font-semibold" : ""}>{effectText(effect)}</span>
          <span className="block text-[0.82rem] text-faint">
            {percent(rule.successes_with / Math.max(1, total(rule)), 0)} of {count(total(rule))} succeed
          </span>
        </span>
      </Link>
    </li>
  );
}
