/** Numbers and times as people read them. */

const whole = new Intl.NumberFormat("en");
const money = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumFractionDigits: 2 });

export const count = (n: number | null | undefined) => (n == null ? "–" : whole.format(n));
export const dollars = (n: number | null | undefined) => (n == null ? "unpriced" : money.format(n));
/** Dollars where a day may cost less than a cent. */
export const cents = (n: number) => (n > 0 && n < 0.01 ? `$${n.toPrecision(2)}` : money.format(n));
export const fixed = (n: number | null | undefined, digits = 1) => (n == null ? "–" : n.toFixed(digits));

/** A fraction as percent: 0.914 → 91.4 %. */
export const percent = (fraction: number | null | undefined, digits = 1) =>
  fraction == null ? "–" : `${(fraction * 100).toFixed(digits)} %`;

/** Percentage points with their sign; the minus is a minus. */
export const points = (pp: number | null | undefined, digits = 1) => (pp == null ? "–" : `${signed(pp, digits)} pp`);

export function signed(n: number, digits = 1): string {
  const text = Math.abs(n).toFixed(digits);
  if (Number(text) === 0) return text;
  return `${n < 0 ? "−" : "+"}${text}`;
}

/** Both ends of an interval: "−1.0 to +2.0". */
export const ends = (pair: number[] | null | undefined, digits = 1) =>
  pair?.map((end) => signed(end, digits)).join(" to ");

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

const day = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });
const dayYear = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" });
const moment = new Intl.DateTimeFormat("en", {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
  timeZone: "UTC",
});
const clock = new Intl.DateTimeFormat("en", {
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
  timeZone: "UTC",
});

const date = (seconds: number) => new Date(seconds * 1000);
export const onDay = (seconds: number) => day.format(date(seconds));
export const onDate = (seconds: number) => dayYear.format(date(seconds));
export const at = (seconds: number) => moment.format(date(seconds));
export const atTime = (seconds: number) => clock.format(date(seconds));
export const isoDay = (seconds: number) => date(seconds).toISOString().slice(0, 10);

/** 75 → "1 min 15 s"; the two largest units. */
export function duration(seconds: number): string {
  const parts: string[] = [];
  let rest = Math.max(0, Math.round(seconds));
  for (const [size, unit] of [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ] as const) {
    const n = Math.floor(rest / size);
    rest -= n * size;
    if (n > 0 && parts.length < 2) parts.push(`${n} ${unit}`);
  }
  return parts.join(" ") || "0 s";
}

export function ago(seconds: number, now = Date.now() / 1000): string {
  const gap = now - seconds;
  if (gap < 45) return "just now";
  const [size, unit] =
    gap < 3600 ? [60, "min"] : gap < 86400 ? [3600, "h"] : gap < 86400 * 60 ? [86400, "d"] : [86400 * 30, "months"];
  return `${Math.round(gap / (size as number))} ${unit} ago`;
}

/** `wrong_answer` → "wrong answer". */
export const words = (code: string | null | undefined) => (code ?? "").replaceAll("_", " ");
export const sourceName = (source: string) => source || "(no source)";
