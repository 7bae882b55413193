/** The time range that pages share: a preset or two dates, kept in the address. */

import { isoDay } from "./format.ts";

export const PRESETS = ["24h", "7d", "30d", "90d"] as const;
export type Preset = (typeof PRESETS)[number];
const SECONDS: Record<Preset, number> = { "24h": 86_400, "7d": 604_800, "30d": 2_592_000, "90d": 7_776_000 };

export type Bucket = "day" | "week";
/** `key` is the same while a range that ends now moves on. */
export type Range = { name: string; key: string; from: number; to: number; bucket: Bucket };

const DAY = 86_400;
export const BUCKET_SECONDS: Record<Bucket, number> = { day: DAY, week: 7 * DAY };

/** The start of the day, or of the week from Monday, that a time is in (UTC). */
export function bucketStart(seconds: number, bucket: Bucket): number {
  const day = Math.floor(seconds / DAY);
  // 1 January 1970 was a Thursday.
  return (bucket === "day" ? day : day - ((day + 3) % 7)) * DAY;
}

/** Every bucket of a range, by its start. */
export function bucketsOf({ from, to, bucket }: Pick<Range, "from" | "to" | "bucket">): number[] {
  const first = bucketStart(from, bucket);
  const n = Math.floor((bucketStart(to, bucket) - first) / BUCKET_SECONDS[bucket]) + 1;
  return Array.from({ length: n }, (_, i) => first + i * BUCKET_SECONDS[bucket]);
}

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

function withBucket(params: URLSearchParams, range: Omit<Range, "bucket" | "key">): Range {
  const wanted = params.get("bucket");
  const bucket = wanted === "day" || wanted === "week" ? wanted : range.to - range.from > 45 * 86_400 ? "week" : "day";
  const key = range.name === "custom" ? `${range.from} to ${range.to}` : range.name;
  return { ...range, key, bucket };
}

function parseDay(text: string | null): number | null {
  if (!text || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const time = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(time) ? null : time / 1000;
}

/** The parameters of an address that name a range. */
export function rangeParams({ name, from, to }: Pick<Range, "name" | "from" | "to">): Record<string, string> {
  return name === "custom" ? { from: isoDay(from), to: isoDay(to) } : { range: name };
}

/** The parameters that name one bucket, as a range of days. */
export const bucketParams = (start: number, bucket: Bucket) =>
  rangeParams({ name: "custom", from: start, to: start + BUCKET_SECONDS[bucket] - 1 });
