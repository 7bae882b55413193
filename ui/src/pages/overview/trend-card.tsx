/** The course of the success rate: all versions of the agent as one line, or each by itself. A point leads to its sessions. */
import { useNavigate } from "react-router";
import { ChartCard, Legend, shownAs } from "../../charts/frame.tsx";
import { Trend, type TrendLine } from "../../charts/trend.tsx";
import { fixed, isoDay, percent } from "../../lib/format.ts";
import { bucketParams, type Range } from "../../lib/range.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Segmented } from "../../parts/controls.tsx";
import { pointsOf, type View } from "./use-overview.ts";
import { newcomers, type Version } from "./versions.ts";

const COLORS = ["accent", "rival", "warn", "good", "bad", "soft"].map((name) => `var(--${name})`);
const RATES = ["success rate", "low 95 %", "high 95 %", "judged share", "shadow share", "escalation rate"];

type Props = {
  hero: View["hero"];
  range: Range;
  source: string | null;
  version: string | null;
  versions: Version[];
};

export function TrendCard({ hero, range, source, version, versions }: Props) {
  const [params, change] = useUrlState();
  const go = useNavigate();
  const byVersion = versions.length > 1 && params.get("lines") === "versions";
  const lines = byVersion ? ofVersions(versions) : ofAll(hero, source === null);
  const open = (ts: number) =>
    go(
      `/sessions?${new URLSearchParams({
        ...bucketParams(ts, range.bucket),
        ...(source ? { source } : {}),
        ...(version ? { version } : {}),
      })}`,
    );
  return (
    <ChartCard
      title="Trend"
      lead={`${range.bucket === "week" ? "Weeks from Monday" : "Days"}, UTC; band: 95 % interval; dotted: still filling`}
      data={byVersion ? tableOfVersions(versions, range) : tableOfAll(hero, range)}
      file="success-rate"
      aside={
        versions.length > 1 && (
          <Segmented
            label="Lines"
            value={byVersion ? "versions" : "all"}
            options={[
              ["all", "All"],
              ["versions", "By version"],
            ]}
            onChange={(to) => change({ lines: to === "all" ? null : to })}
          />
        )
      }>
      <Trend
        label="Success rate"
        lines={lines}
        range={range}
        now={Date.now() / 1000}
        height={268}
        markers={newcomers(versions).map(({ name, since }) => ({ name, ts: since }))}
        onOpen={open}
      />
      {lines.length > 1 && <Legend items={lines.map(({ color, name }) => [color, name])} />}
    </ChartCard>
  );
}

function ofAll(hero: View["hero"], withShadow: boolean): TrendLine[] {
  const all: TrendLine = { name: "success rate", color: "var(--accent)", points: pointsOf(hero.buckets) };
  const compared = withShadow ? hero.buckets.filter((b) => b.shadow_rate != null) : [];
  if (compared.length === 0) return [all];
  const shadow = compared.map((b) => ({ ts: b.ts, value: b.shadow_rate ?? null, n: b.shadow_n }));
  return [all, { name: "shadow preferred, of compared sessions", color: "var(--rival)", points: shadow, look: "thin" }];
}

const ofVersions = (versions: Version[]): TrendLine[] =>
  versions.map(({ name, buckets }, place) => ({
    name,
    color: COLORS[place % COLORS.length] ?? "",
    points: pointsOf(buckets),
  }));

const tableOfAll = (hero: View["hero"], range: Range) => ({
  columns: [
    range.bucket,
    ...RATES.slice(0, 3),
    "n",
    "judged share",
    "shadow share",
    "shadow n",
    "corrections",
    "escalation rate",
  ],
  rows: hero.buckets.map((b) => [
    isoDay(b.ts),
    b.regular_rate,
    b.ci95?.[0],
    b.ci95?.[1],
    b.regular_n,
    b.judged_share,
    b.shadow_rate,
    b.shadow_n,
    b.avg_corrections,
    b.escalation_rate,
  ]),
  shown: { ...shownAs(percent, ...RATES), ...shownAs((n) => fixed(n, 2), "corrections") },
});

const tableOfVersions = (versions: Version[], range: Range) => ({
  columns: ["version", range.bucket, ...RATES.slice(0, 3), "n"],
  rows: versions.flatMap(({ name, buckets }) =>
    pointsOf(buckets).map((p) => [name, isoDay(p.ts), p.value, p.low, p.high, p.n]),
  ),
  shown: shownAs(percent, ...RATES),
});
