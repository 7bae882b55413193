/** The choice of the time range, in the address. */
import { useState } from "react";
import { isoDay } from "../lib/format.ts";
import { PRESETS, type Range } from "../lib/range.ts";
import { useUrlState, withParams } from "../lib/url-state.ts";
import { Button, Segmented, TextField } from "./controls.tsx";
import { Dialog } from "./dialog.tsx";

const names = { "24h": "24 h", "7d": "7 d", "30d": "30 d", "90d": "90 d" } as const;

/** `onChoose` hears of the address that a choice leads to before it is gone to. */
export function RangeChoice({ range, onChoose }: { range: Range; onChoose?: (params: URLSearchParams) => void }) {
  const [params, change] = useUrlState();
  const [asking, setAsking] = useState(false);
  const choose = (changes: Record<string, string | null>) => {
    onChoose?.(new URLSearchParams(withParams(params, changes)));
    change(changes);
  };
  const options = [...PRESETS.map((p) => [p, names[p]] as const), ["custom", "Custom"] as const];
  return (
    <>
      <Segmented
        label="Time range"
        value={range.name}
        options={options}
        onChange={(name) => (name === "custom" ? setAsking(true) : choose({ range: name, from: null, to: null }))}
      />
      <CustomRange
        open={asking}
        range={range}
        onClose={() => setAsking(false)}
        onChoose={(from, to) => choose({ range: null, from, to })}
      />
    </>
  );
}

function CustomRange({
  open,
  range,
  onClose,
  onChoose,
}: {
  open: boolean;
  range: Range;
  onClose: () => void;
  onChoose: (from: string, to: string) => void;
}) {
  const [from, setFrom] = useState(isoDay(range.from));
  const [to, setTo] = useState(isoDay(range.to));
  return (
    <Dialog title="Custom range" open={open} onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(e) => {
          e.preventDefault();
          onChoose(from, to);
          onClose();
        }}>
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
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit">
            Show
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
