/** How many corrections sessions took, against the week before. */
import { useNavigate } from "react-router";
import type { Scores } from "../../api/types.ts";
import { Histogram } from "../../charts/bars.tsx";
import { ChartCard } from "../../charts/frame.tsx";

export function Corrections({ scores }: { scores: Scores }) {
  const go = useNavigate();
  const bins = scores.labels.map((label, i) => ({
    label,
    now: scores.current_bins[i] ?? 0,
    before: scores.baseline_bins[i] ?? 0,
  }));
  const data = {
    columns: ["corrections", "last 7 days", "7 days before"],
    rows: bins.map((b) => [b.label, b.now, b.before]),
  };
  const open = (label: string) => go(`/sessions?${new URLSearchParams({ range: "7d", corrections: label })}`);
  return (
    <ChartCard
      title="Corrections per session"
      lead="share of sessions; how often people had to set the agent right"
      data={data}
      file="corrections">
      <Histogram label="Share of sessions by number of corrections" bins={bins} height={250} onOpen={open} />
    </ChartCard>
  );
}
