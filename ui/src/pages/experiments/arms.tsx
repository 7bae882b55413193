/** The two arms, number by number. */
import type { ArmMetrics } from "../../api/types.ts";
import { count, fixed, percent } from "../../lib/format.ts";
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

export function Arms({ treatment, holdout }: { treatment: ArmMetrics; holdout: ArmMetrics }) {
  return (
    <Card title="The arms" flush>
      <table className="num w-full text-[0.93rem]">
        <thead className="text-[0.84rem] text-faint">
          <tr>
            <th className="sr-only">Number</th>
            <th scope="col" className="px-3 py-1 text-right font-medium text-accent">
              Treatment
            </th>
            <th scope="col" className="py-1 pr-5 pl-3 text-right font-medium text-rival">
              Holdout
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
