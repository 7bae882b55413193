/** A verdict in a word or two. */
import { words } from "../../lib/format.ts";
import { Badge } from "../../parts/page.tsx";

type Judged = { is_success?: boolean | null; failure_type?: string | null; is_escalated?: boolean | null };

export function Verdict({ row }: { row: Judged }) {
  if (row.is_success == null) return <Badge>not judged</Badge>;
  return (
    <span className="inline-flex gap-1.5">
      {row.is_success ? (
        <Badge tone="good">success</Badge>
      ) : (
        <Badge tone="bad">{words(row.failure_type) || "failure"}</Badge>
      )}
      {row.is_escalated && <Badge tone="warn">escalated</Badge>}
    </span>
  );
}
