/** Talks to one server with one key. */

import { address, type Answer, type Parts, type Verb } from "./api.js";
import * as clean from "./clean.js";
import { Delivery, type Stats } from "./delivery.js";
import { Found } from "./found.js";
import { platform } from "./platform.js";
import type { components, paths } from "./schema.gen.js";
import { Session, type SessionOptions } from "./session.js";
import { type Options, type Settings, settings } from "./settings.js";
import { headers, named, problem } from "./wire.js";

type Schemas = components["schemas"];

export interface SearchOptions {
  user?: string;
  session?: string;
  /** How many of each kind. */
  topK?: number;
  kinds?: Schemas["EntityType"][];
  /** Seconds; `searchTimeout` of the client when absent. */
  timeout?: number;
  /** Further fields, as the server names them. */
  more?: Partial<Schemas["SearchRequest"]>;
}

export interface OutcomeOptions {
  /** Needed when several users have a session of this id. */
  user?: string;
  label?: string;
  value?: number;
  metadata?: Record<string, unknown>;
  /** Unix seconds, now when absent. */
  at?: number;
}

const OUTCOMES = ["success", "failure", "unknown"];

export class Client {
  readonly settings: Settings;
  readonly delivery: Delivery;

  constructor(options: Options = {}) {
    this.settings = settings(options);
    this.delivery = new Delivery(this.settings);
    platform().atExit(() => this.delivery.end());
  }

  /** A session of a user; call `finish` at its end. */
  session(user: string, session?: string, options: SessionOptions = {}): Session {
    return new Session(this, user, session, options);
  }

  /** Learnings for a question, within `timeout` seconds; empty when that fails. */
  async search(query: string, options: SearchOptions = {}): Promise<Found> {
    try {
      const body = {
        query: String(query).slice(0, 20_000),
        user_id: options.user,
        session_id: options.session,
        top_k: options.topK,
        entity_types: options.kinds,
        ...options.more,
      };
      const signal = AbortSignal.timeout((options.timeout ?? this.settings.searchTimeout) * 1000);
      const answer = await this.send("post", "/api/search", clean.json(body), signal);
      return new Found(answer);
    } catch (error) {
      if (this.settings.strict) throw error;
      this.settings.log("warn", `a search failed (${named(error)}): going on without learnings`);
      return new Found({}, named(error));
    }
  }

  /** How a session really ended. Kept and delivered like a turn. */
  outcome(session: string, outcome: Schemas["SessionOutcomeKind"], options: OutcomeOptions = {}): void {
    this.guarded("an outcome could not be recorded", () => {
      if (!OUTCOMES.includes(outcome)) throw new Error(`an outcome is one of ${OUTCOMES.join(", ")}, not ${outcome}`);
      const body = clean.json({
        session_id: String(session).trim(),
        outcome,
        occurred_at: options.at ?? Date.now() / 1000,
        user_id: options.user,
        label: options.label,
        value: options.value,
        metadata: options.metadata,
      });
      this.delivery.report(body.session_id, "/api/session_outcome", body);
    });
  }

  /** Whether everything recorded so far was delivered within `seconds`. */
  flush(seconds = 10): Promise<boolean> {
    return this.delivery.flush(seconds * 1000);
  }

  /** Counts of everything recorded: delivered, dropped, waiting. */
  stats(): Stats {
    return this.delivery.stats();
  }

  /** Delivers what can be delivered within `exitTimeout`; the rest stays in the spool. */
  async close(): Promise<void> {
    await this.delivery.flush(this.settings.exitTimeout * 1000, true);
    this.delivery.end();
  }

  /** Any operation of the server: `await client.api("get", "/api/sessions", { query: { user_id: "ada" } })`. */
  async api<M extends Verb, P extends keyof paths>(method: M, path: P, parts: Parts<P, M> = {}): Promise<Answer<P, M>> {
    const signal = AbortSignal.timeout(this.settings.timeout * 1000);
    return this.send(method, address(path, parts), parts.body, signal);
  }

  private async send(method: string, path: string, body: unknown, signal: AbortSignal): Promise<any> {
    const response = await this.settings.fetch(this.settings.url + path, {
      method: method.toUpperCase(),
      headers: headers(this.settings.apiKey),
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
    if (!response.ok) throw await problem(response);
    const type = response.headers.get("content-type") ?? "";
    return type.startsWith("application/json") ? response.json() : response.arrayBuffer();
  }

  /** Runs something that must not throw into the agent. */
  guarded(what: string, run: () => void): void {
    try {
      run();
    } catch (error) {
      if (this.settings.strict) throw error;
      this.settings.log("error", `${what}: ${named(error)}`);
    }
  }
}
