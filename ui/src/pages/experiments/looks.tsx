/** The lift as it was seen day by day, with the interval that may be read every day. */
import type { Results } from "../../api/types.ts";
import { Course } from "../../charts/course.tsx";
import { ChartCard, shownAs } from "../../charts/frame.tsx";
import { count, isoDay, onDay, points, signed } from "../../lib/format.ts";

const DAY = 86_400;

export function LiftOverTime({ data }: { data: Results }) {
  const { looks } = data;
  const sure = looks.flatMap((look) => {
    const [low, high] = look.always_valid_interval_pp ?? [];
    const note = `${count(look.treatment_users)} and ${count(look.holdout_users)} users`;
    return low === undefined || high === undefined ? [] : [{ ts: look.day, value: look.lift_pp, low, high, note }];
  });
  // Before there is an interval the lift is mostly chance, and a single look is the headline.
  if (sure.length < 2) return null;
  return (
    <ChartCard
      title="Lift over time"
      lead="all sessions up to each day; band: the interval that is safe to read daily, from 30 users in each arm on"
      file={`${data.experiment.experiment_id}-looks`}
      data={{
        columns: ["day", "lift pp", "low", "high", "treatment users", "holdout users"],
        rows: looks.map((look) => [
          isoDay(look.day),
          look.lift_pp,
          look.always_valid_interval_pp?.[0],
          look.always_valid_interval_pp?.[1],
          look.treatment_users,
          look.holdout_users,
        ]),
        shown: shownAs(points, "lift pp", "low", "high"),
      }}>
      <Course
        label="Lift over time"
        points={sure}
        step={DAY}
        time={onDay}
        tick={(pp) => signed(pp, 0)}
        value={(pp) => points(pp)}
      />
    </ChartCard>
  );
}
