/** Sessions with everything that was published of them, as a file of JSON lines. */
import { useMutation } from "@tanstack/react-query";
import { download } from "../../api/client.ts";
import { isoDay } from "../../lib/format.ts";
import type { Range } from "../../lib/range.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Button } from "../../parts/controls.tsx";
import * as Icon from "../../parts/icons.tsx";
import { useSay } from "../../parts/toast.tsx";

/** The filters that the export knows. */
const NAMES = { user: "user_id", source: "source", version: "agent_version" } as const;

export function ExportSessions({ range }: { range: Range }) {
  const [params] = useUrlState();
  const say = useSay();
  const query = new URLSearchParams({ start_time: String(range.from), end_time: String(range.to + 60) });
  for (const [inAddress, inCall] of Object.entries(NAMES)) {
    const value = params.get(inAddress);
    if (value) query.set(inCall, value);
  }
  const wider = ["verdict", "text", "rule", "experiment", "corrections"].some((name) => params.get(name));
  const take = useMutation({
    mutationFn: () =>
      download(`/api/sessions/export?${query}`, `sessions-${isoDay(range.from)}-to-${isoDay(range.to)}.jsonl`),
    onSuccess: () =>
      say(wider ? "Exported: the range, user, source and version; other filters do not narrow it" : "Exported"),
    onError: (error) => say(error.message, "bad"),
  });
  return (
    <Button
      disabled={take.isPending}
      title={wider ? "The file has the range, user, source and version; other filters do not narrow it" : undefined}
      onClick={() => take.mutate()}>
      <Icon.Download />
      {take.isPending ? "Exporting…" : "Export"}
    </Button>
  );
}
