/** Sends batches from the spool, one after the other, in the background. Nothing here throws into the agent. */

import { halves, transient, withoutRefusedParts } from "./repair.js";
import type { Settings } from "./settings.js";
import { type Batch, type Entry, PUBLISH, Spool } from "./spool.js";
import { type ApiError, clockAhead, headers, named, problem, retryAfter } from "./wire.js";

// A batch is sent before it comes near the server's bound of 10 MiB.
const BATCH_BYTES = 2 * 1024 * 1024;
const ADOPT_EVERY = 30_000;
// An outcome may come before its session, from another process: it is tried again that long.
const KEEP_UNKNOWN = 24 * 3600 * 1000;

/** Counts of the turns and reports recorded by this client. */
export interface Stats {
  delivered: number;
  /** Refused by the server for good, or recorded while the spool was full. */
  dropped: number;
  /** Batches not delivered yet, and their size. */
  waiting: number;
  waitingBytes: number;
  /** Why the newest attempt failed; null after one that did not. */
  lastError: string | null;
}

const turns = (entry: Entry): number => entry.body.interaction_data_list?.length || 1;

export class Delivery {
  readonly spool: Spool;
  private readonly open = new Map<string, { batch: Batch; session: string }>();
  private waiting: string[] = [];
  /** Batches that wait for something else than the server: when to try again, and since when. */
  readonly aside = new Map<string, { due: number; since: number }>();
  private running = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private hurry = false;
  private listeners: (() => void)[] = [];
  private delivered = 0;
  private dropped = 0;
  private failures = 0;
  private attempts = 0;
  private notBefore = 0;
  private toldToWait = false;
  private lastError: string | null = null;
  private ahead: number | undefined;
  private fullSaid = false;
  private adopted = Number.NEGATIVE_INFINITY;

  constructor(private readonly settings: Settings) {
    this.spool = new Spool(settings.spool, settings.maxSpoolBytes, settings.log);
  }

  // Recording. These calls touch the disk and never the network.

  record(key: string, session: string, fields: any, turn: any): boolean {
    for (let attempt = 0; attempt < 2; attempt++) {
      const batch = this.open.get(key)?.batch ?? this.spool.open(PUBLISH, fields);
      if (!batch) break;
      this.open.set(key, { batch, session });
      try {
        if (!this.spool.append(batch, turn)) {
          if (batch.turns === 0) {
            this.open.delete(key);
            this.spool.remove(batch.name);
          }
          break;
        }
      } catch (error) {
        this.settings.log("warn", `the spool cannot be written: ${error}`);
        this.close(key);
        continue;
      }
      if (batch.turns >= this.settings.batchTurns || batch.bytes >= BATCH_BYTES) this.close(key);
      this.wake();
      return true;
    }
    this.drop(1, "the spool is full");
    return false;
  }

  finish(key: string, session: string, fields: any): void {
    const batch = this.open.get(key)?.batch ?? this.spool.open(PUBLISH, fields);
    if (!batch) {
      this.drop(1, "the spool is full");
      return;
    }
    this.open.set(key, { batch, session });
    try {
      this.spool.mark(batch, { session_finished: true });
    } catch (error) {
      this.settings.log("warn", `the spool cannot be written: ${error}`);
    }
    this.close(key);
    this.wake();
  }

  /** Sends a report about a session after everything recorded of it. */
  report(session: string, path: string, body: any): boolean {
    for (const [key, one] of [...this.open]) if (one.session === session) this.close(key);
    const batch = this.spool.open(path, body);
    if (!batch) {
      this.drop(1, "the spool is full");
      return false;
    }
    this.waiting.push(batch.name);
    this.wake();
    return true;
  }

  private close(key: string): void {
    const found = this.open.get(key);
    this.open.delete(key);
    if (found) this.waiting.push(found.batch.name);
  }

  private drop(count: number, why: string): void {
    this.dropped += count;
    if (why === "the spool is full") {
      if (this.fullSaid) return;
      this.fullSaid = true;
    }
    this.settings.log("error", `${why}: ${count} dropped`);
  }

  // Waiting for delivery.

  /** Whether everything recorded so far, also by processes that ended, was delivered in time. */
  async flush(timeout: number, giveUp = false): Promise<boolean> {
    const limit = performance.now() + timeout;
    this.adopt();
    for (const key of [...this.open.keys()]) this.close(key);
    const before = this.attempts;
    this.hurry = true;
    if (!this.toldToWait) this.notBefore = 0;
    this.wake();
    while (this.waiting.length > 0 || this.aside.size > 0) {
      const failed = this.attempts > before && this.lastError !== null;
      const left = limit - performance.now();
      if (left <= 0 || (giveUp && (failed || this.waiting.length === 0))) return false;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.listeners.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    return true;
  }

  end(): void {
    clearTimeout(this.timer);
    this.spool.end();
  }

  stats(): Stats {
    const waiting = this.waiting.length + this.open.size + this.aside.size;
    const { delivered, dropped, lastError } = this;
    return { delivered, dropped, waiting, waitingBytes: this.spool.bytes, lastError };
  }

  // The loop. It runs while something is due, and else a timer starts it again.

  private wake(): void {
    clearTimeout(this.timer);
    if (this.running) return;
    this.running = true;
    queueMicrotask(() => void this.run());
  }

  private async run(): Promise<void> {
    try {
      for (;;) {
        const now = performance.now();
        if (now - this.adopted >= ADOPT_EVERY) this.adopt();
        const name = this.next(now);
        if (name === undefined) break;
        try {
          await this.attempt(name);
        } catch (error) {
          this.retry(named(error), undefined);
        }
        this.changed();
      }
    } finally {
      this.running = false;
    }
    this.sleep();
  }

  private changed(): void {
    const listeners = this.listeners;
    this.listeners = [];
    for (const tell of listeners) tell();
  }

  private sleep(): void {
    const now = performance.now();
    const times = [...this.open.values()].map((one) => one.batch.opened + this.settings.batchSeconds * 1000);
    times.push(...[...this.aside.values()].map((one) => one.due));
    // Time has passed since the loop looked: a wait may be over already.
    if (this.waiting.length > 0) times.push(now);
    if (times.length === 0) return;
    const due = Math.max(Math.min(...times), this.notBefore);
    this.timer = setTimeout(() => this.wake(), Math.max(1, due - now));
    // A server that is away keeps no process alive: what is on disk is delivered by the next one.
    if (this.lastError !== null && this.spool.onDisk) (this.timer as { unref?: () => void }).unref?.();
  }

  private adopt(): void {
    this.adopted = performance.now();
    try {
      // They are older than what is waiting.
      this.waiting.unshift(...this.spool.adopt());
    } catch (error) {
      this.settings.log("warn", `what was left in the spool could not be read: ${error}`);
    }
  }

  private next(now: number): string | undefined {
    for (const [key, { batch }] of [...this.open])
      if (now - batch.opened >= this.settings.batchSeconds * 1000) this.close(key);
    if (now < this.notBefore) return undefined;
    for (const [name, { due }] of this.aside) if (due <= now || this.hurry) return name;
    return this.waiting[0];
  }

  private async attempt(name: string): Promise<void> {
    const { url, apiKey, timeout, fetch } = this.settings;
    const signal = () => AbortSignal.timeout(timeout * 1000);
    if (this.ahead === undefined) {
      // The first contact tells the server's time, by which batches are dated.
      const live = await fetch(`${url}/health/live`, { signal: signal() });
      await live.text();
      this.ahead = clockAhead(live) ?? 0;
    }
    const entry = this.spool.entry(name, this.ahead);
    if (!entry) {
      this.done(name, 0);
      return;
    }
    const body = JSON.stringify(entry.body);
    const response = await fetch(url + entry.path, {
      method: "POST",
      headers: headers(apiKey),
      body,
      signal: signal(),
    });
    this.ahead = clockAhead(response) ?? this.ahead;
    if (response.status === 200) {
      await response.text();
      this.done(name, turns(entry));
    } else this.refused(name, entry, await problem(response), retryAfter(response));
  }

  private refused(name: string, entry: Entry, error: ApiError, pause: number | undefined): void {
    if (error.code === "request_id_reused") {
      // The id is ours alone: an earlier attempt arrived, and something of the request was changed since.
      this.done(name, turns(entry));
      return;
    }
    if (transient(error)) {
      this.retry(`${error.status} ${error.code}`.trim(), pause);
      return;
    }
    if (error.status === 404 && entry.path !== PUBLISH) {
      this.setAside(name);
      return;
    }
    const parts = error.status === 413 ? halves(entry, name) : undefined;
    if (parts) {
      for (const [part, half] of parts) this.spool.addSealed(part, half, name);
      this.leave(name);
      this.waiting.unshift(...parts.map(([part]) => part));
      return;
    }
    const changed = error.status === 422 ? withoutRefusedParts(entry, error) : undefined;
    if (changed) {
      const places = error.errors.map((one) => `${one.pointer} ${one.code}`).join(", ") || error.code;
      this.settings.log("error", `the server refused parts of a batch, which are left out: ${places}`);
      this.spool.replace(name, changed);
      return;
    }
    this.drop(turns(entry), `refused by the server (${error.status} ${error.code})`);
    this.leave(name);
    this.lastError = null;
  }

  /** The session is not known yet; others go on meanwhile. */
  private setAside(name: string): void {
    const now = performance.now();
    const since = this.aside.get(name)?.since ?? now;
    this.waiting = this.waiting.filter((one) => one !== name);
    this.hurry = false;
    this.attempts += 1;
    if (now - since > KEEP_UNKNOWN) {
      this.drop(1, "the session of a report never came");
      this.leave(name);
    } else this.aside.set(name, { due: now + Math.min(300_000, Math.max(1000, now - since)), since });
  }

  private leave(name: string): void {
    this.spool.remove(name);
    this.aside.delete(name);
    this.waiting = this.waiting.filter((one) => one !== name);
  }

  private done(name: string, count: number): void {
    this.leave(name);
    this.delivered += count;
    this.attempts += 1;
    this.failures = 0;
    this.notBefore = 0;
    this.lastError = null;
    this.fullSaid = false;
    if (this.waiting.length === 0) this.hurry = false;
  }

  private retry(why: string, pause: number | undefined): void {
    if (this.lastError !== why)
      this.settings.log("warn", `Evenhand at ${this.settings.url} does not take batches (${why}); they are kept`);
    this.lastError = why;
    this.failures += 1;
    this.attempts += 1;
    const backoff = Math.min(this.settings.maxBackoff * 1000, 100 * 2 ** Math.min(this.failures - 1, 20));
    const wait = pause === undefined ? backoff * (0.5 + Math.random() / 2) : Math.min(pause, 300_000);
    this.notBefore = performance.now() + wait;
    this.toldToWait = pause !== undefined;
    this.hurry = false;
  }
}
