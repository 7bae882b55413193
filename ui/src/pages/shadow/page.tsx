/** Your agent's answers against those of a shadow, judged turn by turn. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { api, ok } from "../../api/client.ts";
import { WinLoss } from "../../charts/bars.tsx";
import { ChartCard } from "../../charts/frame.tsx";
import { count, percent, points } from "../../lib/format.ts";
import { bucketParams, rangeOf } from "../../lib/range.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Segmented } from "../../parts/controls.tsx";
import { Card, Empty, Page, Skeleton, Tile, Tiles, Trouble } from "../../parts/page.tsx";
import { RangeChoice } from "../../parts/range.tsx";
import { Comparison, outcomeOf } from "./comparison.tsx";

/** As many as the server gives at once: the pool that top disagreements are picked from. */
const POOL = 100;
const SHOWN = 25;

export default function ShadowPage() {
  const [params, change] = useUrlState();
  const range = rangeOf(params);
  const go = useNavigate();
  const [opened, setOpened] = useState<number | null>(null);
  const overview = useQuery({
    queryKey: ["overview", "shadow", range.from, range.to],
    placeholderData: keepPreviousData,
    queryFn: () =>
      ok(
        api.POST("/api/get_evaluation_overview", {
          body: { from_ts: range.from, to_ts: range.to, bucket: "day", include_session_ids: false },
        }),
      ),
  });
  const recent = useQuery({
    queryKey: ["shadow-recent"],
    queryFn: () => ok(api.GET("/api/evaluations/shadow_comparisons/recent", { params: { query: { limit: POOL } } })),
  });
  const trend = overview.data?.shadow_win_rate_trend;
  const total = trend?.window_total;
  const view = params.get("view") === "disagreements" ? "disagreements" : "recent";
  const pool = recent.data?.verdicts ?? [];
  const losses = pool.filter((v) => outcomeOf(v) === "loss" && v.output.is_significantly_better);
  const listed = (view === "recent" ? pool : losses).slice(0, SHOWN);
  return (
    <Page
      title="Shadow"
      lead="Each answer published with a shadow beside it is judged against it, in both orders."
      actions={<RangeChoice range={range} />}>
      {overview.isError && <Trouble error={overview.error} retry={() => overview.refetch()} />}
      {!overview.data ? (
        !overview.isError && <Skeleton height={330} className="rounded-xl" />
      ) : !trend || !total || total.n === 0 ? (
        <Card>
          <Empty title="No comparison in this range">
            Publish the other agent's answer as <code>shadow_content</code> beside your own <code>content</code>. Nobody
            sees it but the judge, and this page shows which of the two serves people better.
          </Empty>
        </Card>
      ) : (
        <>
          <Tiles>
            <Tile label="Net win" value={points(total.net_win * 100)} note="share won minus share lost" />
            <Tile
              label="Won"
              value={percent(total.win_rate)}
              note={`${count(total.wins)} of ${count(total.n)} turns`}
            />
            <Tile label="Tied" value={percent(total.ties / total.n)} note={`${count(total.ties)} turns`} />
            <Tile label="Lost" value={percent(total.losses / total.n)} note={`${count(total.losses)} turns`} />
            <Tile
              label="Order flips"
              value={percent(total.flip_rate)}
              note="answers that changed with the order; counted as ties"
            />
          </Tiles>
          <ChartCard
            title="Per day"
            lead={`rubric ${trend.judge_prompt_version}; verdicts of other rubrics are never mixed in`}
            file="shadow-days"
            data={{
              columns: ["date", "n", "wins", "ties", "losses"],
              rows: trend.daily.map((d) => [d.date, d.n, d.wins, d.ties, d.losses]),
            }}>
            <WinLoss
              label="Wins, ties and losses per day"
              onOpen={(ts) => go(`/sessions?${new URLSearchParams(bucketParams(ts, "day"))}`)}
              days={trend.daily.map((d) => ({ ts: Date.parse(`${d.date}T00:00:00Z`) / 1000, ...d }))}
            />
          </ChartCard>
        </>
      )}
      {recent.isError && <Trouble error={recent.error} retry={() => recent.refetch()} />}
      {pool.length > 0 && (
        <Card
          title="Comparisons"
          flush
          lead={
            view === "recent"
              ? `the newest ${listed.length} of the last 30 days`
              : `clear losses among the newest ${pool.length}: top ${listed.length} of ${losses.length}`
          }
          aside={
            <Segmented
              label="Which comparisons"
              value={view}
              options={[
                ["recent", "Most recent"],
                ["disagreements", "Top disagreements"],
              ]}
              onChange={(v) => change({ view: v === "recent" ? null : v })}
            />
          }>
          {listed.length === 0 ? (
            <Empty title="No clear loss">
              Among the newest {pool.length} comparisons the shadow never won clearly.
            </Empty>
          ) : (
            <ul className="border-t border-line">
              {listed.map((verdict) => (
                <Comparison
                  key={verdict.verdict_id}
                  verdict={verdict}
                  open={opened === verdict.verdict_id}
                  onToggle={() => setOpened(opened === verdict.verdict_id ? null : verdict.verdict_id)}
                />
              ))}
            </ul>
          )}
        </Card>
      )}
    </Page>
  );
}
