/** Charts of the age of the queue over the last day, and of spending day by day. */
import { useQuery } from "@tanstack/react-query";
import { api, ok } from "../../api/client.ts";
import { Course } from "../../charts/course.tsx";
import { DayBars } from "../../charts/day-bars.tsx";
import { ChartCard, shownAs } from "../../charts/frame.tsx";
import { at, atTime, cents, dollars, duration, isoDay, plural } from "../../lib/format.ts";
import { QUIET_POLL_MS } from "../../lib/poll.ts";
import { Card, Skeleton, Trouble } from "../../parts/page.tsx";

export function QueueAgeCard() {
  const history = useQuery({
    queryKey: ["queue-ages"],
    queryFn: () => ok(api.GET("/api/jobs/ages")),
    refetchInterval: QUIET_POLL_MS,
  });
  const title = "Queue age, last 24 hours";
  if (!history.data) return <Pending title={title} query={history} />;
  const { ages, step_seconds } = history.data;
  if (ages.length === 0)
    return (
      <Card title={title} lead="this server looks every minute since it started">
        <p className="text-soft">It has not looked yet.</p>
      </Card>
    );
  const [size, unit] = unitOf(Math.max(0, ...ages.map((one) => one.oldest_due_age_seconds)));
  return (
    <ChartCard
      title={title}
      lead="longest wait of a due job per 10 minutes (UTC), all organizations; seen by this server since it started"
      file="queue-age"
      data={{
        columns: ["time", "longest wait (s)"],
        rows: ages.map((one) => [at(one.at), one.oldest_due_age_seconds]),
      }}>
      <Course
        label="Queue age"
        points={ages.map((one) => ({ ts: one.at, value: one.oldest_due_age_seconds / size }))}
        step={step_seconds}
        time={atTime}
        tick={(n) => `${n} ${unit}`}
        value={(n) => duration(n * size)}
        least={60 / size}
        height={170}
      />
    </ChartCard>
  );
}

/** The unit in which an age is read best, and its seconds. */
function unitOf(longest: number): [seconds: number, name: string] {
  if (longest > 2 * 86_400) return [86_400, "d"];
  if (longest > 2 * 3600) return [3600, "h"];
  return longest > 120 ? [60, "min"] : [1, "s"];
}

const KINDS: [color: string, name: string][] = [
  ["var(--accent)", "judging"],
  ["var(--rival)", "learning"],
];

export function SpendingCard() {
  const spending = useQuery({
    queryKey: ["spending"],
    queryFn: () => ok(api.GET("/api/spending")),
    staleTime: 60_000,
  });
  const title = "Spent per day";
  if (!spending.data) return <Pending title={title} query={spending} />;
  const { days } = spending.data;
  const total = days.reduce((sum, day) => sum + day.judging_usd + day.learning_usd, 0);
  if (total === 0)
    return (
      <Card title={title} lead={`nothing was paid in ${plural(days.length, "day")}`}>
        <p className="text-soft">Rules and the learned judge cost nothing; a provider's model does.</p>
      </Card>
    );
  return (
    <ChartCard
      title={title}
      lead={`${dollars(total)} in ${plural(days.length, "day")} (UTC); without calls that failed and verdicts that were replaced`}
      file="spending"
      data={{
        columns: ["day", "judging", "learning"],
        rows: days.map((day) => [isoDay(day.day), day.judging_usd, day.learning_usd]),
        shown: shownAs(cents, "judging", "learning"),
      }}>
      <DayBars
        label="US dollars spent per day"
        days={days.map((day) => ({ ts: day.day, parts: [day.judging_usd, day.learning_usd] }))}
        kinds={KINDS}
        value={cents}
      />
    </ChartCard>
  );
}

type Asked = { isError: boolean; error: Error | null; refetch: () => unknown };

function Pending({ title, query }: { title: string; query: Asked }) {
  return (
    <Card title={title}>
      {query.isError ? <Trouble error={query.error} retry={() => query.refetch()} /> : <Skeleton height={170} />}
    </Card>
  );
}
