/** The answers against their shadow, at a glance; the Shadow page has the rest. */
import { Link, useNavigate } from "react-router";
import type { ShadowTrend } from "../../api/types.ts";
import { WinLoss } from "../../charts/bars.tsx";
import { ChartCard } from "../../charts/frame.tsx";
import { count, percent, points } from "../../lib/format.ts";
import { bucketParams, type Range } from "../../lib/range.ts";
import { Facts } from "../../parts/page.tsx";

export function ShadowCard({ trend, range }: { trend: ShadowTrend | null | undefined; range: Range }) {
  const go = useNavigate();
  if (!trend || trend.window_total.n === 0) return null;
  const total = trend.window_total;
  const days = trend.daily.map((d) => ({ ts: Date.parse(`${d.date}T00:00:00Z`) / 1000, ...d }));
  const data = {
    columns: ["date", "n", "wins", "ties", "losses"],
    rows: trend.daily.map((d) => [d.date, d.n, d.wins, d.ties, d.losses]),
  };
  const search = range.name === "custom" ? "" : `?range=${range.name}`;
  return (
    <ChartCard
      title="Answers against their shadow"
      data={data}
      file="shadow"
      lead={`${count(total.n)} turns compared by rubric ${trend.judge_prompt_version}`}
      aside={
        <Link to={`/shadow${search}`} className="mr-2 text-accent underline">
          All comparisons
        </Link>
      }>
      <div className="grid gap-5 lg:grid-cols-[220px_1fr]">
        <div>
          <div className="num text-[2rem] leading-tight font-semibold tracking-[-0.03em]">
            {points(total.net_win * 100)}
          </div>
          <p className="mb-3 text-soft">net win: share won minus share lost</p>
          <Facts
            rows={[
              ["Won", `${count(total.wins)} (${percent(total.win_rate)})`],
              ["Tied", count(total.ties)],
              ["Lost", count(total.losses)],
              ["Order flips", total.flip_rate == null ? "one order only" : percent(total.flip_rate)],
            ]}
          />
        </div>
        <WinLoss
          label="Wins, ties and losses against the shadow per day"
          days={days}
          onOpen={(ts) => go(`/sessions?${new URLSearchParams(bucketParams(ts, "day"))}`)}
        />
      </div>
    </ChartCard>
  );
}
