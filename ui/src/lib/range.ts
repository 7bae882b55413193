/** The time range that pages share: a preset or two dates, kept in the address. */

export const PRESETS = ["24h", "7d", "30d", "90d"] as const;
export type Preset = (typeof PRESETS)[number];
const SECONDS: Record<Preset, number> = { "24h": 86_400, "7d": 604_800, "30d": 2_592_000, "90d": 7_776_000 };

export type Range = { name: string; from: number; to: number; bucket: "day" | "week" };

/** Rounded to the minute, so that the same range is the same question for a while. */
export function rangeOf(params: URLSearchParams, now = Date.now() / 1000, fallback: Preset = "30d"): Range {
  const end = Math.ceil(now / 60) * 60;
  const [from, to] = [parseDay(params.get("from")), parseDay(params.get("to"))];
  if (from !== null && to !== null && from <= to) {
    return withBucket(params, { name: "custom", from, to: Math.min(to + 86_399, end) });
  }
  const wanted = params.get("range") as Preset | null;
  const name = wanted && PRESETS.includes(wanted) ? wanted : fallback;
  return withBucket(params, { name, from: end - SECONDS[name], to: end });
}

function withBucket(params: URLSearchParams, range: Omit<Range, "bucket">): Range {
  const wanted = params.get("bucket");
  const bucket = wanted === "day" || wanted === "week" ? wanted : range.to - range.from > 45 * 86_400 ? "week" : "day";
  return { ...range, bucket };
}

function parseDay(text: string | null): number | null {
  if (!text || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const time = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(time) ? null : time / 1000;
}
