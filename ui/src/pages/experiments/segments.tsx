/** For whom it works, and what must not get worse. */
import type { Schemas } from "../../api/client.ts";
import type { Results } from "../../api/types.ts";
import { ChartCard, shownAs } from "../../charts/frame.tsx";
import { Intervals } from "../../charts/intervals.tsx";
import { count, ends, points, sourceName, words } from "../../lib/format.ts";
import { Badge, Card } from "../../parts/page.tsx";

const nameOf = (segment: Schemas["LiftSegment"]) =>
  segment.pooled ? "all smaller ones" : sourceName(segment.name ?? "");

export function Segments({ segments }: { segments: Results["segments"] }) {
  const parts = [
    ["source", segments.source],
    ["agent version", segments.agent_version],
  ] as const;
  return (
    <div className="grid items-start gap-4 xl:grid-cols-2">
      {parts
        .filter(([, part]) => part.segments.length > 0)
        .map(([name, part]) => (
          <ChartCard
            key={name}
            title={`By ${name}`}
            file={`lift-by-${name.replace(" ", "-")}`}
            lead={
              part.interaction === null
                ? "too little to tell them apart"
                : part.interaction.p_value < 0.05
                  ? "the effect differs between them"
                  : "no sign that the effect differs"
            }
            data={{
              columns: [name, "treatment users", "holdout users", "lift pp", "low 95 %", "high 95 %", "adjusted p"],
              rows: part.segments.map((s) => [
                nameOf(s),
                s.treatment_users,
                s.holdout_users,
                s.lift_pp,
                s.interval_95_pp?.[0],
                s.interval_95_pp?.[1],
                s.adjusted_p_value,
              ]),
              shown: shownAs(points, "lift pp", "low 95 %", "high 95 %"),
            }}>
            <Intervals
              label={`Lift by ${name}`}
              rows={part.segments.map((s) => ({
                name: `${nameOf(s)} (${count(s.holdout_users)} held out)`,
                value: s.lift_pp,
                low: s.interval_95_pp?.[0] ?? null,
                high: s.interval_95_pp?.[1] ?? null,
                note: "under 5 users",
              }))}
            />
          </ChartCard>
        ))}
    </div>
  );
}

const TONES: Record<Schemas["GuardrailVerdict"], "good" | "bad" | "neutral"> = {
  passed: "good",
  failed: "bad",
  undecided: "neutral",
};

export function Guardrails({ guardrails }: { guardrails: Results["guardrails"] }) {
  return (
    <Card title="What must not get worse" lead="the change, and the most that would be accepted" flush>
      <table className="num w-full text-[0.93rem]">
        <thead className="text-left text-[0.84rem] text-faint">
          <tr>
            <th scope="col" className="py-1 pl-5 font-medium">
              Guardrail
            </th>
            <th scope="col" className="px-3 py-1 font-medium">
              Change, 95 %
            </th>
            <th scope="col" className="px-3 py-1 font-medium max-sm:hidden">
              Margin
            </th>
            <th scope="col" className="py-1 pr-5 font-medium">
              Verdict
            </th>
          </tr>
        </thead>
        <tbody>
          {guardrails.map((g) => (
            <tr key={g.name} className="border-t border-line">
              <th scope="row" className="py-1.5 pl-5 text-left font-normal text-soft">
                {words(g.name)}
              </th>
              <td className="px-3 py-1.5">{ends(g.difference_interval_95, 2) ?? "–"}</td>
              <td className="px-3 py-1.5 max-sm:hidden">+{g.margin.toPrecision(2)}</td>
              <td className="py-1.5 pr-5">
                <Badge tone={TONES[g.verdict]}>{words(g.verdict)}</Badge>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}
