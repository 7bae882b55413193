/** Makes values that the server takes: JSON, without NUL, halves of characters, or texts that are too long. */

const MAX_TEXT = 1_000_000;
const CUT = "\n[cut]";
// Halves of pairs that stand alone; String.prototype.toWellFormed is younger than Node 18.
const HALVES = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

export function text(value: unknown): string {
  const found = (typeof value === "string" ? value : String(value))
    .replaceAll("\0", "\ufffd")
    .replace(HALVES, "\ufffd");
  // The server counts characters, of which there are at most as many as units here.
  return found.length <= MAX_TEXT ? found : found.slice(0, MAX_TEXT - CUT.length).replace(HALVES, "") + CUT;
}

/** The value as JSON; what JSON does not know becomes text. */
export function json(value: unknown, depth = 0): any {
  if (value === null || value === undefined) return null;
  if (typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value === "string") return text(value);
  if (typeof value !== "object") return text(value);
  if (depth > 30) return "[too deep]";
  if (Array.isArray(value)) return value.map((one) => json(one, depth + 1));
  if (value instanceof Set) return [...value].map((one) => json(one, depth + 1));
  if (value instanceof Date) return value.toISOString();
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return Object.fromEntries(
    entries.filter(([, one]) => one !== undefined).map(([key, one]) => [text(key), json(one, depth + 1)]),
  );
}

/** A tool as the server reads it, from its name alone or from its parts. */
export function tool(value: unknown): any {
  if (typeof value === "string") return { tool_name: text(value) };
  const made = json(value);
  const data = made.tool_data;
  if (data !== null && data !== undefined && (typeof data !== "object" || Array.isArray(data)))
    made.tool_data = { value: data };
  return made;
}
