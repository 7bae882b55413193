/** How far the labels are, and what the last ten say of the judge. */
import type { Schemas } from "../../api/client.ts";
import { plural } from "../../lib/format.ts";
import { Card, Facts } from "../../parts/page.tsx";

export function ReviewProgress({ queue }: { queue: Schemas["ReviewQueue"] }) {
  const { ground_truth, needed, last_ten } = queue;
  const missing = Math.max(0, needed - ground_truth);
  return (
    <Card title="Ground truth" lead="labels, and outcomes that were reported">
      <div className="num text-[2rem] leading-none font-semibold tracking-[-0.03em]" data-testid="ground-truth">
        {ground_truth}
        <span className="text-[1.1rem] font-medium text-soft"> of {needed}</span>
      </div>
      <progress
        className="mt-2 h-2 w-full accent-accent"
        aria-label="Sessions with ground truth"
        value={Math.min(ground_truth, needed)}
        max={needed}
      />
      <p className="mt-1 mb-3 text-soft">
        {missing > 0
          ? `${plural(missing, "session")} more, with 10 of each kind, and a judge is trained on them.`
          : "Enough to train a judge of your own, if there are 10 of each kind."}
      </p>
      {last_ten.labels > 0 && (
        <Facts
          rows={[
            ["Last labels", String(last_ten.labels)],
            ["Judge agreed", String(last_ten.agreed)],
            ["Disagreed", String(last_ten.disagreed)],
            ["Had no verdict", String(last_ten.undecided)],
          ]}
        />
      )}
    </Card>
  );
}
