/** Decides from the server's answer about a batch: later, or again with less in it. */

import { type Entry, PUBLISH } from "./spool.js";
import type { ApiError } from "./wire.js";

const NEEDED = new Set(["user_id", "session_id", "interaction_data_list"]);
// Statuses that say nothing about the request itself.
const LATER = new Set([401, 403, 405, 408, 425, 429]);

/** Whether the same request may succeed later. An answer without a code did not come from the server itself. */
export function transient(error: ApiError): boolean {
  return LATER.has(error.status) || error.status >= 500 || error.code === "";
}

/** The request without the fields the server named, or undefined when nothing useful is left. */
export function withoutRefusedParts(entry: Entry, error: ApiError): Entry | undefined {
  const changed: Entry = JSON.parse(JSON.stringify(entry));
  const take = (from: any, field: string): boolean => {
    if (from?.[field] === undefined) return false;
    delete from[field];
    return true;
  };
  if (error.code === "experiment_unknown" || error.code === "experiment_arm_mismatch") {
    const had = ["retrieval_experiment_id", "retrieval_experiment_arm"].map((field) => take(changed.body, field));
    return had.includes(true) ? changed : undefined;
  }
  if (error.code !== "invalid_input" || entry.path !== PUBLISH) return undefined;
  let removed = false;
  for (const { pointer } of error.errors) {
    const [field = "", index = "", inner] = String(pointer).split("/").slice(1);
    if (field === "interaction_data_list" && inner !== undefined)
      removed = take(changed.body.interaction_data_list[Number(index)], inner) || removed;
    else if (!NEEDED.has(field)) removed = take(changed.body, field) || removed;
  }
  return removed ? changed : undefined;
}

/** Two requests for one that is too large. Their ids follow from its id, so that splitting again gives the same. */
export function halves(entry: Entry, name: string): [string, Entry][] | undefined {
  const turns = entry.path === PUBLISH ? entry.body.interaction_data_list : [];
  if (turns.length < 2) return undefined;
  const middle = Math.floor(turns.length / 2);
  const part = (letter: string, list: any[]): [string, Entry] => {
    const body = { ...entry.body, interaction_data_list: list, request_id: entry.body.request_id + letter };
    if (letter === "a") delete body.session_finished;
    return [name + letter, { path: entry.path, body }];
  };
  return [part("a", turns.slice(0, middle)), part("b", turns.slice(middle))];
}
