/**
 * Keeps what was recorded until the server has it.
 *
 * A batch is a file of lines. Its first line says where it goes, the others are turns, each appended when it happens, so
 * that a killed process loses nothing it was told was recorded. When a batch is first sent it is sealed: its request is
 * written whole, and never changes while its outcome is unknown. That makes repeats safe.
 */

import type { Log } from "./log.js";
import { MemoryStore, platform, type Store } from "./platform.js";

export const PUBLISH = "/api/publish_interaction";
const OPEN = ".open";
const SEALED = ".json";

export interface Entry {
  path: string;
  body: any;
}

/** Turns of one session on their way into one request. */
export interface Batch {
  name: string;
  store: Store;
  turns: number;
  bytes: number;
  opened: number;
}

const size = (line: string) => new TextEncoder().encode(line).length;

export class Spool {
  bytes = 0;
  readonly onDisk: boolean;
  private readonly sizes = new Map<string, number>();
  private readonly stores = new Map<string, Store>();
  private readonly memory = new MemoryStore();
  private readonly disk: Store | undefined;
  private count = 0;

  constructor(
    root: string | undefined,
    private readonly maxBytes: number,
    private readonly log: Log,
  ) {
    try {
      this.disk = root === undefined ? undefined : platform().openFolder(root);
    } catch (error) {
      this.log("warn", `no spool in ${root} (${error}): what is not delivered is kept in memory only`);
    }
    this.onDisk = this.disk !== undefined;
  }

  /** A new batch, or undefined when there is no room. */
  open(path: string, body: any): Batch | undefined {
    this.count += 1;
    const time = String(Date.now()).padStart(13, "0");
    const name = `${time}-${String(this.count).padStart(6, "0")}-${platform().id()}`;
    const line = `${JSON.stringify({ path, body, at: Date.now() / 1000 })}\n`;
    for (const store of [this.disk, this.memory]) {
      if (!store) continue;
      const batch: Batch = { name, store, turns: 0, bytes: 0, opened: performance.now() };
      this.stores.set(name, store);
      try {
        if (this.add(batch, line)) return batch;
        break;
      } catch (error) {
        this.log("warn", `the spool cannot be written (${error}): going on in memory`);
        this.forget(name);
      }
    }
    this.stores.delete(name);
    return undefined;
  }

  private add(batch: Batch, line: string): boolean {
    const length = size(line);
    if (this.bytes + length > this.maxBytes) return false;
    batch.store.append(batch.name + OPEN, line);
    batch.bytes += length;
    this.sizes.set(batch.name, (this.sizes.get(batch.name) ?? 0) + length);
    this.bytes += length;
    return true;
  }

  /** False when there is no room. An error says that this batch takes nothing more. */
  append(batch: Batch, turn: any): boolean {
    if (!this.add(batch, `${JSON.stringify(turn)}\n`)) return false;
    batch.turns += 1;
    return true;
  }

  /** Sets fields of the request; they may pass the bound, being small. */
  mark(batch: Batch, fields: any): void {
    batch.store.append(batch.name + OPEN, `${JSON.stringify({ set: fields })}\n`);
  }

  adopt(): string[] {
    const names = new Set<string>();
    for (const file of this.disk?.adopt() ?? []) {
      const name = file.slice(0, file.lastIndexOf("."));
      const length = size(this.disk?.read(file) ?? "");
      this.stores.set(name, this.disk as Store);
      this.sizes.set(name, (this.sizes.get(name) ?? 0) + length);
      this.bytes += length;
      names.add(name);
    }
    return [...names];
  }

  /** The request of a batch, sealed. `ahead` is how many seconds this machine's clock is before the server's. */
  entry(name: string, ahead: number): Entry | undefined {
    const store = this.stores.get(name);
    const sealed = store?.read(name + SEALED);
    if (store && sealed !== undefined) {
      try {
        const entry: Entry = JSON.parse(sealed);
        store.remove(name + OPEN);
        return entry;
      } catch {
        // As after a power failure, which kill -9 is not.
        this.log("error", "a batch in the spool cannot be read and is lost");
        store.remove(name + SEALED);
      }
    }
    const made = assemble(store?.read(name + OPEN) ?? "", name, ahead);
    if (made && store) this.seal(store, name, made);
    return made;
  }

  private seal(store: Store, name: string, entry: Entry): void {
    try {
      store.write(name + SEALED, JSON.stringify(entry));
    } catch (error) {
      // A full disk: the open batch stays, and is assembled in the same way again.
      this.log("warn", `a batch could not be sealed: ${error}`);
      return;
    }
    store.remove(name + OPEN);
  }

  /** Another request in the place of one that the server refused. */
  replace(name: string, entry: Entry): void {
    const store = this.stores.get(name);
    if (store) this.seal(store, name, entry);
  }

  /** A request of a given name, kept in the same way as the batch `beside`. */
  addSealed(name: string, entry: Entry, beside: string): void {
    const store = this.stores.get(beside) ?? this.memory;
    this.stores.set(name, store);
    this.seal(store, name, entry);
    this.sizes.set(name, size(JSON.stringify(entry)));
    this.bytes += this.sizes.get(name) ?? 0;
  }

  remove(name: string): void {
    const store = this.stores.get(name);
    store?.remove(name + OPEN);
    store?.remove(name + SEALED);
    this.forget(name);
  }

  private forget(name: string): void {
    this.stores.delete(name);
    this.bytes -= this.sizes.get(name) ?? 0;
    this.sizes.delete(name);
  }

  end(): void {
    this.disk?.end();
  }
}

/** The request of an open batch. A line that a crash cut short was never acknowledged. */
export function assemble(data: string, name: string, ahead: number): Entry | undefined {
  const lines: any[] = [];
  for (const line of data.split("\n")) {
    try {
      if (line) lines.push(JSON.parse(line));
    } catch {
      // Cut short.
    }
  }
  const [head, ...rest] = lines;
  if (head?.path === undefined) return undefined;
  // Small differences are the network's; the server takes times of up to a minute ahead.
  const shift = Math.abs(ahead) >= 10 ? ahead : 0;
  const body = Object.assign({ ...head.body }, ...rest.map((line) => line.set ?? {}));
  if (head.path === PUBLISH) {
    const turns = rest.filter((line) => line.set === undefined);
    for (const turn of turns) {
      if (typeof turn.created_at === "number") turn.created_at = Math.floor(turn.created_at - shift);
    }
    if (turns.length === 0) {
      // Everything of the session is on its way already: only its end is left to say.
      if (!body.session_finished) return undefined;
      return { path: "/api/finalize_session", body: { session_id: body.session_id, user_id: body.user_id } };
    }
    body.interaction_data_list = turns;
    body.request_id = name.slice(name.lastIndexOf("-") + 1);
    body.created_at = turns[0].created_at ?? Math.floor(head.at - shift);
  } else if (typeof body.occurred_at === "number") {
    body.occurred_at = Math.floor(body.occurred_at - shift);
  }
  return { path: head.path, body };
}
