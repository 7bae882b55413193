/** A verdict in a word or two. */
import type { Schemas } from "../../api/client.ts";
import { words } from "../../lib/format.ts";
import { Badge } from "../../parts/page.tsx";

type Judged = Partial<Pick<Schemas["ListedSession"], "is_success" | "failure_type" | "is_escalated">>;

export function Verdict({ row }: { row: Judged }) {
  if (row.is_success == null) return <Badge>not judged</Badge>;
  return (
    <span className="inline-flex flex-wrap gap-x-1.5 gap-y-0.5">
      {row.is_success ? (
        <Badge tone="good">success</Badge>
      ) : (
        <Badge tone="bad">{words(row.failure_type) || "failure"}</Badge>
      )}
      {row.is_escalated && <Badge tone="warn">escalated</Badge>}
    </span>
  );
}
