/** How far the labels are, and what the last ten say of the judge. */
import type { Schemas } from "../../api/client.ts";
import { count, plural } from "../../lib/format.ts";
import { Card, Facts, ProgressBar } from "../../parts/page.tsx";

export function ReviewProgress({ queue }: { queue: Schemas["ReviewQueue"] }) {
  const { ground_truth, needed, last_ten } = queue;
  const missing = Math.max(0, needed - ground_truth);
  return (
    <Card title="Ground truth" lead="labels, and outcomes that were reported">
      <div className="num text-[2rem] leading-none font-semibold tracking-[-0.03em]" data-testid="ground-truth">
        {count(ground_truth)}
        <span className="text-[1.1rem] font-medium text-soft">
          {missing > 0 ? ` of ${needed}` : ` sessions, ${needed} are needed`}
        </span>
      </div>
      <div className="mt-2">
        <ProgressBar label="Sessions with ground truth" done={Math.min(ground_truth, needed)} of={needed} />
      </div>
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
