/** Numbers of requests, and names of files that carry them. */
import { isoDay } from "../../lib/format.ts";

/** The caller's own id for a request: the same one is the same operation. */
export const requestId = (what: string) => `dashboard-${what}-${crypto.randomUUID()}`;

/** `export-DSR-2026-14-2026-11-17`: the officer's number, or else the reference of the person, and the day. */
export function fileName(what: string, reference: string): string {
  const safe = reference.replace(/[^\w.-]+/g, "-");
  return `${what}-${safe}-${isoDay(Date.now() / 1000)}`;
}
