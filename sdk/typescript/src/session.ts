/** A session: what a user and an agent said, in order. */

import * as clean from "./clean.js";
import type { Client, OutcomeOptions, SearchOptions } from "./client.js";
import { Conversation } from "./conversation.js";
import type { Found } from "./found.js";
import { platform } from "./platform.js";
import type { components } from "./schema.gen.js";

type Schemas = components["schemas"];

/** A tool that was used: its name, or its parts. */
export type Tool = string | Schemas["ToolUsed"];

export interface SessionOptions {
  source?: string;
  agentVersion?: string;
  /** Keeps the session out of learning. */
  evaluationOnly?: boolean;
}

export interface TurnOptions {
  tools?: Tool[];
  /** The response of another agent, to be compared with this one. */
  shadow?: string;
  /** The response an expert would have given. */
  expert?: string;
  learnings?: Schemas["RetrievedLearning"][];
  citations?: Schemas["Citation"][];
  /** Unix seconds, now when absent. */
  at?: number;
  /** Further fields, as the server names them. */
  more?: Partial<Schemas["InteractionData"]>;
}

/** Records turns. The calls write to the spool and return; they neither wait for the server nor throw. */
export class Session {
  readonly userId: string;
  readonly sessionId: string;
  readonly conversation: Conversation;
  private readonly key: string;
  private readonly fields: Record<string, unknown>;
  private references: Schemas["RetrievedLearning"][] = [];

  constructor(
    private readonly client: Client,
    user: string,
    session: string | undefined,
    options: SessionOptions,
  ) {
    this.userId = String(user).trim();
    this.sessionId = session === undefined ? platform().id() : String(session).trim();
    this.key = JSON.stringify([this.userId, this.sessionId]);
    this.fields = clean.json({
      user_id: this.userId,
      session_id: this.sessionId,
      source: options.source ?? client.settings.source,
      agent_version: options.agentVersion ?? client.settings.agentVersion,
      evaluation_only: options.evaluationOnly || undefined,
    });
    this.conversation = new Conversation(this);
  }

  /** One turn of any role. */
  turn(role: string, content = "", options: TurnOptions = {}): void {
    this.client.guarded("a turn could not be recorded", () => {
      if (!this.userId || !this.sessionId) throw new Error("a session needs a user and an id");
      const made = {
        role: clean.text(role).slice(0, 1000),
        content: clean.text(content ?? ""),
        created_at: options.at ?? Date.now() / 1000,
        tools_used: options.tools?.length ? options.tools.map(clean.tool) : undefined,
        shadow_content: options.shadow === undefined ? undefined : clean.text(options.shadow),
        expert_content: options.expert === undefined ? undefined : clean.text(options.expert),
        retrieved_learnings: options.learnings?.length ? clean.json(options.learnings) : undefined,
        citations: options.citations?.length ? clean.json(options.citations) : undefined,
        ...(options.more ? clean.json(options.more) : {}),
      };
      this.client.delivery.record(this.key, this.sessionId, this.fields, made);
    });
  }

  /** A turn of the user. */
  user(content: string, options: TurnOptions = {}): void {
    this.turn("User", content, options);
  }

  /** A turn of the agent, with the tools it used and what a search of this session found before. */
  assistant(content = "", options: TurnOptions = {}): void {
    const references = this.references;
    this.references = [];
    this.turn("Assistant", content, references.length > 0 ? { learnings: references, ...options } : options);
  }

  /** Learnings for a question of this user. The next assistant turn says that it was made with them. */
  async search(query: string, options: SearchOptions = {}): Promise<Found> {
    const found = await this.client.search(query, { user: this.userId, session: this.sessionId, ...options });
    const known = new Set(this.references.map((one) => `${one.kind} ${one.learning_id}`));
    const fresh = found.references().filter((one) => !known.has(`${one.kind} ${one.learning_id}`));
    this.references = [...this.references, ...fresh].slice(0, 1000);
    return found;
  }

  /** How the session really ended. */
  outcome(outcome: Schemas["SessionOutcomeKind"], options: OutcomeOptions = {}): void {
    this.client.outcome(this.sessionId, outcome, { user: this.userId, ...options });
  }

  /**
   * Nothing more is coming: the server may judge the session now. The promise says whether everything was delivered
   * within `exitTimeout`; it need not be awaited, except at the end of a worker's request.
   */
  finish(): Promise<boolean> {
    this.client.guarded("the end of a session could not be recorded", () => {
      this.conversation.settle();
      this.client.delivery.finish(this.key, this.sessionId, this.fields);
    });
    return this.client.delivery.flush(this.client.settings.exitTimeout * 1000, true);
  }
}
