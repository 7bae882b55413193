/**
 * Client of Evenhand: records agent sessions, searches what was learned, reports outcomes.
 *
 * The functions here use one client for the process, made from EVENHAND_URL and EVENHAND_API_KEY at the first call, or by
 * `configure`.
 */

import { Client, type OutcomeOptions, type SearchOptions } from "./client.js";
import type { Stats } from "./delivery.js";
import type { Found } from "./found.js";
import type { components } from "./schema.gen.js";
import type { Session, SessionOptions } from "./session.js";
import type { Options } from "./settings.js";

export { Client, type OutcomeOptions, type SearchOptions } from "./client.js";
export { Session, type SessionOptions, type Tool, type TurnOptions } from "./session.js";
export { Found } from "./found.js";
export { ApiError } from "./wire.js";
export { wrap } from "./wrap.js";
export type { Stats } from "./delivery.js";
export type { Options } from "./settings.js";
export type { components, operations, paths } from "./schema.gen.js";

let current: Client | undefined;

/** Makes the client that the functions here use; an earlier one is closed. */
export function configure(options: Options = {}): Client {
  const before = current;
  current = new Client(options);
  void before?.close();
  return current;
}

/** The client that the functions here use. */
export function defaultClient(): Client {
  current ??= new Client();
  return current;
}

/** A session of a user; call `finish` at its end. */
export function session(user: string, id?: string, options: SessionOptions = {}): Session {
  return defaultClient().session(user, id, options);
}

/** Learnings for a question; empty when nothing fits or the search fails. */
export function search(query: string, options: SearchOptions = {}): Promise<Found> {
  return defaultClient().search(query, options);
}

/** How a session really ended. Kept and delivered like a turn. */
export function outcome(
  id: string,
  kind: components["schemas"]["SessionOutcomeKind"],
  options: OutcomeOptions = {},
): void {
  defaultClient().outcome(id, kind, options);
}

/** Whether everything recorded so far was delivered within `seconds`. */
export function flush(seconds = 10): Promise<boolean> {
  return defaultClient().flush(seconds);
}

/** Counts of everything recorded: delivered, dropped, waiting. */
export function stats(): Stats {
  return defaultClient().stats();
}
