/** Which learnings went with success, and which with failure: net sessions, as diverging bars. */
import { Link } from "react-router";
import type { Rule } from "../../api/types.ts";
import { ChartCard } from "../../charts/frame.tsx";
import { count, percent, signed, words } from "../../lib/format.ts";
import type { Range } from "../../lib/range.ts";
import { Empty } from "../../parts/page.tsx";

/** Fewer sessions than this say little. */
const FEW = 10;

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
    ],
    rows: rules.map((r) => [
      r.rule_id,
      r.kind,
      r.title,
      r.successes_with,
      r.failures_with,
      r.net_sessions,
      r.success_rate_ci95[0],
      r.success_rate_ci95[1],
    ]),
  };
  const worstFirst = [...rules].sort((a, b) => rate(a) - rate(b));
  const reach = Math.max(1, ...rules.map((r) => Math.abs(r.net_sessions)));
  return (
    <ChartCard
      title="What helped and what harmed"
      file="rules"
      data={data}
      lead="sessions whose agent cited the learning: successes minus failures; least successful first, grey under 10 sessions">
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
const rate = (rule: Rule) => rule.successes_with / Math.max(1, total(rule));

function Bar({ rule, reach, range, version }: { rule: Rule; reach: number; range: Range; version: string | null }) {
  const n = total(rule);
  const few = n < FEW;
  const width = `${(Math.abs(rule.net_sessions) / reach) * 50}%`;
  const harm = rule.net_sessions < 0;
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
        className={`group grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 rounded-md px-1.5 py-1.5 hover:bg-raised sm:grid-cols-[minmax(0,5fr)_minmax(90px,3fr)_132px] ${few ? "text-faint" : ""}`}>
        <span className="min-w-0">
          <span className="block truncate font-medium group-hover:underline">
            {rule.title || `${words(rule.kind)} ${rule.rule_id}`}
          </span>
          <span className="block truncate text-[0.82rem] text-faint">
            {words(rule.kind)} {rule.rule_id}
          </span>
        </span>
        <span aria-hidden="true" className="relative hidden h-3.5 sm:block">
          <span className="absolute inset-y-[-5px] left-1/2 w-px bg-line-strong" />
          <span
            className={`absolute inset-y-0 rounded-[3px] ${few ? "bg-line-strong" : harm ? "bg-bad" : "bg-good"}`}
            style={harm ? { right: "50%", width } : { left: "50%", width }}
          />
        </span>
        <span className="num text-right text-[0.88rem]">
          <b className="font-semibold">{percent(rate(rule), 0)}</b> succeed
          <span className="block text-[0.82rem] text-faint">
            net {signed(rule.net_sessions, 0)}, n = {count(n)}
          </span>
        </span>
      </Link>
    </li>
  );
}
