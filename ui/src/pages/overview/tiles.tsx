/** The last seven days against the seven before. */
import type { ContextTiles as Tiles_, PartnerTile } from "../../api/types.ts";
import { count, fixed, percent, points, signed } from "../../lib/format.ts";
import { Tile, Tiles } from "../../parts/page.tsx";

/** Whether a change is for the better; a small one is neither. */
function tone(delta: number | null | undefined, better: "up" | "down"): "good" | "bad" | undefined {
  if (delta == null || Math.abs(delta) < 0.005) return undefined;
  return delta > 0 === (better === "up") ? "good" : "bad";
}

const change = (text: string | null) => (text === null ? "nothing to compare with" : `${text} on the 7 days before`);

export function ContextTiles({ tiles, partners }: { tiles: Tiles_; partners: PartnerTile[] }) {
  const { success, behavior_success: behavior, corrections, turns, escalation } = tiles;
  const pp = (delta: number | null | undefined) => change(delta == null ? null : points(delta));
  const plain = (delta: number | null | undefined) => change(delta == null ? null : signed(delta, 2));
  return (
    <section aria-label="Last seven days">
      <Tiles>
        <Tile
          label="Success, last 7 days"
          value={percent(success.current)}
          note={pp(success.delta_pp)}
          tone={tone(success.delta_pp, "up")}
        />
        <Tile
          label="Without system errors"
          value={percent(behavior.current)}
          note={
            behavior.excluded_system_errors > 0
              ? `${count(behavior.excluded_system_errors)} system errors left out`
              : pp(behavior.delta_pp)
          }
        />
        <Tile
          label="Corrections per session"
          value={fixed(corrections.current, 2)}
          note={plain(corrections.delta)}
          tone={tone(corrections.delta, "down")}
        />
        <Tile
          label="Turns to resolution"
          value={fixed(turns.current, 2)}
          note={plain(turns.delta)}
          tone={tone(turns.delta, "down")}
        />
        <Tile
          label="Escalated"
          value={percent(escalation.current)}
          note={pp(escalation.delta_pp)}
          tone={tone(escalation.delta_pp, "down")}
        />
        {partners.map((p) => (
          <Tile
            key={p.scorer_name}
            label={p.scorer_name}
            value={fixed(p.current, 2)}
            note={`n = ${count(p.n)}${p.delta == null ? "" : `, ${signed(p.delta, 2)}`}`}
          />
        ))}
      </Tiles>
    </section>
  );
}
