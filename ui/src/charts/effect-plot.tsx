/** One effect on an axis that a list shares, with zero in its middle: a dot, its interval, and a diamond that is drawn towards
 *  zero by what all of them show together. */
import type { Effect } from "../lib/effect.ts";

const COLORS = { helps: "bg-good", hurts: "bg-bad", none: "bg-soft" };

export function EffectPlot({
  effect,
  reach,
}: {
  effect: Omit<Effect, "basis" | "successRate"> | undefined;
  reach: number;
}) {
  const place = (pp: number) => `${50 + (pp / reach) * 50}%`;
  const color = COLORS[effect?.standing ?? "none"];
  const { value = null, low = null, high = null, shrunken = null } = effect ?? {};
  return (
    <span aria-hidden="true" className="relative hidden h-4 min-w-0 sm:block">
      <span className="absolute inset-y-[-6px] left-1/2 w-px bg-line-strong" />
      {low !== null && high !== null && (
        <span
          className={`absolute inset-y-[6px] rounded-full opacity-50 ${color}`}
          style={{ left: place(low), width: `${((high - low) / reach) * 50}%` }}
        />
      )}
      {value !== null && (
        <span
          className={`absolute top-[4px] size-2 -translate-x-1/2 rounded-full ${color}`}
          style={{ left: place(value) }}
        />
      )}
      {shrunken !== null && value !== null && (
        <span
          className="absolute top-[4px] size-2 -translate-x-1/2 rotate-45 border border-ink bg-panel"
          style={{ left: place(shrunken) }}
        />
      )}
    </span>
  );
}
