/** Which learnings go with success, and which with failure: the difference to comparable sessions, as diverging bars. */
import { Link } from "react-router";
import type { Rule } from "../../api/types.ts";
import { ChartCard } from "../../charts/frame.tsx";
import { count, ends, percent, words } from "../../lib/format.ts";
import type { Range } from "../../lib/range.ts";
import { Empty } from "../../parts/page.tsx";

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
  };
  const worstFirst = [...rules].sort((a, b) => effect(a) - effect(b) || total(b) - total(a));
  const reach = Math.max(1, ...rules.map((r) => Math.abs(effect(r))));
  return (
    <ChartCard
      title="What helped and what harmed"
      file="rules"
      data={data}
      lead="by a trial where one ran: success with the playbook minus success of users from whom it was withheld at random; elsewhere an association, not a cause: sessions that cite the learning against sessions of the same users, or of the same source and version, that do not; coloured where it is more than chance">
      {rules.length === 0 ? (
        <Empty title="No session cited a learning">
          When agents publish <code>citations</code>, each cited playbook or profile is credited with how its sessions
          went.
        </Empty>
      ) : (
        <ol className="flex flex-col">
          {worstFirst.map((rule) => (
            <Bar key={`${rule.kind}/${rule.rule_id}`} rule={rule} reach={reach} range={range} version={version} />
          ))}
        </ol>
      )}
    </ChartCard>
  );
}

const total = (rule: Rule) => rule.successes_with + rule.failures_with;
/** The difference in points, drawn towards none: by a trial, or else by association; 0 where too little is known. */
const effect = (rule: Rule) => rule.trial?.shrunken_pp ?? rule.association.shrunken_pp ?? 0;
/** True if it is more than chance. A trial that has an effect decides by itself. */
const isCalled = (rule: Rule) =>
  rule.trial?.effect_pp == null ? rule.association.is_marked : rule.trial.state !== "no_sign_yet";
const rate = (rule: Rule) => rule.successes_with / Math.max(1, total(rule));

function Bar({ rule, reach, range, version }: { rule: Rule; reach: number; range: Range; version: string | null }) {
  const n = total(rule);
  const marked = isCalled(rule);
  const byTrial = rule.trial?.effect_pp != null;
  const interval = byTrial ? rule.trial?.always_valid_ci95_pp : rule.association.ci95_pp;
  const width = `${(Math.abs(effect(rule)) / reach) * 50}%`;
  const harm = effect(rule) < 0;
  const search = new URLSearchParams({
    rule: `${rule.kind}:${rule.rule_id}`,
    range: range.name === "custom" ? "" : range.name,
  });
  if (version) search.set("version", version);
  return (
    <li>
      <Link
        to={`/sessions?${search}`}
        title="Show the sessions that cited it"
        className={`group grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 rounded-md px-1.5 py-1.5 hover:bg-raised sm:grid-cols-[minmax(0,5fr)_minmax(90px,3fr)_132px] ${marked ? "" : "text-faint"}`}>
        <span className="min-w-0">
          <span className="block truncate font-medium group-hover:underline">
            {rule.title || `${words(rule.kind)} ${rule.rule_id}`}
          </span>
          <span className="block truncate text-[0.82rem] text-faint">
            {words(rule.kind)} {rule.rule_id}
            {byTrial && `, by a trial: ${words(rule.trial?.state)}`}
          </span>
        </span>
        <span aria-hidden="true" className="relative hidden h-3.5 sm:block">
          <span className="absolute inset-y-[-5px] left-1/2 w-px bg-line-strong" />
          <span
            className={`absolute inset-y-0 rounded-[3px] ${marked ? (harm ? "bg-bad" : "bg-good") : "bg-line-strong"}`}
            style={harm ? { right: "50%", width } : { left: "50%", width }}
          />
        </span>
        <span className="num text-right text-[0.88rem]">
          <b className="font-semibold">{percent(rate(rule), 0)}</b> succeed
          <span className="block text-[0.82rem] text-faint">
            {interval ? `${ends(interval, 0)} pp` : "too few users to compare"}, n = {count(n)}
          </span>
        </span>
      </Link>
    </li>
  );
}
