/** The two arms, number by number, each with the way to its sessions. */
import { Link } from "react-router";
import type { ArmMetrics, Results } from "../../api/types.ts";
import { count, fixed, percent } from "../../lib/format.ts";
import { rangeParams } from "../../lib/range.ts";
import { Card } from "../../parts/page.tsx";

const ROWS: [string, (arm: ArmMetrics) => string][] = [
  ["Users with requests", (a) => count(a.assigned_user_count)],
  ["Sessions published", (a) => count(a.published_session_count)],
  ["Users evaluated", (a) => count(a.evaluated_user_count)],
  ["Sessions evaluated", (a) => count(a.evaluated_session_count)],
  ["Judged of what was due", (a) => percent(a.judged_share)],
  ["Success rate", (a) => percent(a.success_rate)],
  ["Corrections per session", (a) => fixed(a.average_corrections, 2)],
  ["Turns to resolution", (a) => fixed(a.average_turns_to_resolution, 2)],
  ["Escalated", (a) => percent(a.escalation_rate)],
  ["Output tokens per session", (a) => fixed(a.average_output_tokens, 0)],
];

export function Arms({ data: { experiment, treatment, holdout } }: { data: Results }) {
  const to = experiment.ended_at ?? Date.now() / 1000;
  const sessionsOf = (arm: ArmMetrics["arm"]) =>
    `/sessions?${new URLSearchParams({
      experiment: experiment.experiment_id,
      arm,
      ...rangeParams({ name: "custom", from: experiment.started_at, to }),
    })}`;
  return (
    <Card title="The arms" lead="a name leads to the sessions of the arm" flush>
      <table className="num w-full text-[0.93rem]">
        <thead className="text-[0.84rem] text-faint">
          <tr>
            <th className="sr-only">Number</th>
            <th scope="col" className="px-3 py-1 text-right font-medium text-accent">
              <Link className="underline" to={sessionsOf("treatment")} title="Sessions of the treatment">
                Treatment
              </Link>
            </th>
            <th scope="col" className="py-1 pr-5 pl-3 text-right font-medium text-rival">
              <Link className="underline" to={sessionsOf("holdout")} title="Sessions of the holdout">
                Holdout
              </Link>
            </th>
          </tr>
        </thead>
        <tbody>
          {ROWS.map(([name, value]) => (
            <tr key={name} className="border-t border-line">
              <th scope="row" className="py-1.5 pr-3 pl-5 text-left font-normal text-soft">
                {name}
              </th>
              <td className="px-3 py-1.5 text-right font-medium">{value(treatment)}</td>
              <td className="py-1.5 pr-5 pl-3 text-right font-medium">{value(holdout)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}
