/** The lift from week to week. */
import type { Results } from "../../api/types.ts";
import { ChartCard, shownAs } from "../../charts/frame.tsx";
import { Intervals } from "../../charts/intervals.tsx";
import { onDay, points } from "../../lib/format.ts";

const WEEK = 7 * 86_400;

export function WeeklyLift({ data }: { data: Results }) {
  const weeks = data.trend.weeks
    .filter((week) => week.lift_pp !== null)
    .map(({ week, lift_pp, standard_error_pp }) => ({
      name: `Week of ${onDay(data.experiment.started_at + week * WEEK)}`,
      value: lift_pp,
      low: lift_pp === null || standard_error_pp === null ? null : lift_pp - 1.96 * standard_error_pp,
      high: lift_pp === null || standard_error_pp === null ? null : lift_pp + 1.96 * standard_error_pp,
    }));
  if (weeks.length < 2) return null;
  return (
    <ChartCard
      title="Lift from week to week"
      lead="each week by itself, with its 95 % interval; decide by the lift of the whole"
      file={`${data.experiment.experiment_id}-weeks`}
      data={{
        columns: ["week", "lift pp", "low 95 %", "high 95 %"],
        rows: weeks.map(({ name, value, low, high }) => [name, value, low, high]),
        shown: shownAs(points, "lift pp", "low 95 %", "high 95 %"),
      }}>
      <Intervals label="Lift from week to week" rows={weeks} />
    </ChartCard>
  );
}
