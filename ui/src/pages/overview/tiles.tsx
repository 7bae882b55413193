/** The last seven days against the seven before. */
import type { ContextTiles as Tiles_, PartnerTile } from "../../api/types.ts";
import { count, ends, fixed, percent, points, signed } from "../../lib/format.ts";
import { Tile, Tiles } from "../../parts/page.tsx";

/** Whether a change is for the better: neither, unless its interval excludes 0. */
export function tone(
  { delta_ci95: interval }: { delta_ci95?: number[] | null },
  better: "up" | "down",
): "good" | "bad" | undefined {
  const [low, high] = interval ?? [];
  if (low === undefined || high === undefined || (low <= 0 && high >= 0)) return undefined;
  return low > 0 === (better === "up") ? "good" : "bad";
}

/** A change in words, with the ends of its interval. */
function change(text: string | null, interval: number[] | null | undefined, digits: number) {
  if (text === null) return "nothing to compare with";
  return `${text}${interval ? ` (${ends(interval, digits)})` : ""} on the 7 days before`;
}

export function ContextTiles({ tiles, partners }: { tiles: Tiles_; partners: PartnerTile[] }) {
  const { success, behavior_success: behavior, corrections, turns, escalation } = tiles;
  const pp = ({ delta_pp: delta, delta_ci95: interval }: Tiles_["success"]) =>
    change(delta == null ? null : points(delta), interval, 1);
  const plain = ({ delta, delta_ci95: interval }: Tiles_["turns"]) =>
    change(delta == null ? null : signed(delta, 2), interval, 2);
  return (
    <section aria-label="Last seven days">
      <Tiles>
        <Tile
          label="Success, last 7 days"
          value={percent(success.current)}
          note={`${pp(success)}; ${percent(success.judged_share)} of what was due judged`}
          tone={tone(success, "up")}
        />
        <Tile
          label="Without system errors"
          value={percent(behavior.current)}
          note={
            behavior.excluded_system_errors > 0
              ? `${count(behavior.excluded_system_errors)} system errors left out`
              : pp(behavior)
          }
        />
        <Tile
          label="Corrections per session"
          value={fixed(corrections.current, 2)}
          note={plain(corrections)}
          tone={tone(corrections, "down")}
        />
        <Tile
          label="Turns to resolution"
          value={fixed(turns.current, 2)}
          note={plain(turns)}
          tone={tone(turns, "down")}
        />
        <Tile
          label="Escalated"
          value={percent(escalation.current)}
          note={pp(escalation)}
          tone={tone(escalation, "down")}
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
