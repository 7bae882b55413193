/** Judging a window again: first what it takes, then the start. */
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ok } from "../../api/client.ts";
import { count, dollars, isoDay, plural } from "../../lib/format.ts";
import { Button, TextField } from "../../parts/controls.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Note, Skeleton, Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";

const seconds = (day: string) => Date.parse(`${day}T00:00:00Z`) / 1000;

export function StartRegeneration({ open, onClose }: { open: boolean; onClose: () => void }) {
  const client = useQueryClient();
  const say = useSay();
  const now = Date.now() / 1000;
  const [from, setFrom] = useState(isoDay(now - 7 * 86_400));
  const [to, setTo] = useState(isoDay(now));
  const [cap, setCap] = useState("");
  const valid = from !== "" && to !== "" && from <= to;
  const window = { from_ts: seconds(from), to_ts: seconds(to) + 86_399 };
  const preview = useQuery({
    queryKey: ["regeneration-preview", window],
    enabled: open && valid,
    placeholderData: keepPreviousData,
    queryFn: () => ok(api.POST("/api/evaluations/regenerate/preview", { body: window })),
  });
  const start = useMutation({
    mutationFn: () =>
      ok(
        api.POST("/api/evaluations/regenerate", { body: { ...window, max_cost_usd: cap === "" ? null : Number(cap) } }),
      ),
    onSuccess: async ({ total }) => {
      await client.invalidateQueries({ queryKey: ["regenerations"] });
      say(`Judging ${plural(total, "session")} again`);
      onClose();
    },
  });
  const data = preview.data;
  return (
    <Dialog title="Judge a window again" open={open} onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(e) => {
          e.preventDefault();
          start.mutate();
        }}>
        <p className="text-soft">
          Sessions that began in this window get a new verdict; old ones stay until the new ones are there.
        </p>
        <div className="grid grid-cols-2 gap-3">
          <TextField
            label="From (UTC)"
            type="date"
            required
            max={to}
            value={from}
            onChange={(e) => setFrom(e.target.value)}
          />
          <TextField
            label="To, included"
            type="date"
            required
            min={from}
            value={to}
            onChange={(e) => setTo(e.target.value)}
          />
        </div>
        <TextField
          label="Stop at (US dollars, optional)"
          type="number"
          min="0"
          step="0.01"
          value={cap}
          onChange={(e) => setCap(e.target.value)}
          hint="What is done by then is kept."
        />
        {preview.isError ? (
          <Trouble error={preview.error} />
        ) : !data ? (
          <Skeleton height={64} />
        ) : (
          <Note>
            <b>{plural(data.total, "session")}</b> will be judged by {data.judge}
            {data.total < data.total_candidates && (
              <>, drawn from {count(data.total_candidates)}: at most the configured number per day and source</>
            )}
            . Estimated cost: <b>{dollars(data.estimated_cost_usd)}</b>.
          </Note>
        )}
        {start.isError && <Trouble error={start.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Not now</Button>
          <Button look="primary" type="submit" disabled={!valid || start.isPending || !data || data.total === 0}>
            {start.isPending ? "Starting…" : "Start"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
