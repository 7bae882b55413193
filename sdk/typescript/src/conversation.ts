/**
 * Turns calls of a model into turns of a session.
 *
 * Every call of a chat model carries the whole history, so most of it was recorded before. New is what follows the last
 * message of the assistant: the user's words, or results of tools. A call of tools becomes a turn once their results are
 * known, which the next call brings.
 */

import * as clean from "./clean.js";
import type { Session } from "./session.js";

/** A tool that the model wants to be called. */
export interface Call {
  id: string;
  name: string;
  arguments?: unknown;
}

/** The result of such a call. */
export interface Result {
  id: string;
  value: unknown;
  failed: boolean;
}

/** A message in no provider's own form. */
export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  text: string;
  calls: Call[];
  results: Result[];
}

export function message(role: Message["role"], text = "", calls: Call[] = [], results: Result[] = []): Message {
  return { role, text, calls, results };
}

export class Conversation {
  /** The answer whose tools have not come back yet, with its time. */
  private pending: { message: Message; at: number } | undefined;
  private readonly results = new Map<string, Result>();
  private readonly seen: string[] = [];

  constructor(private readonly session: Session) {}

  /** The messages of a call, before it is made. */
  request(messages: Message[]): void {
    const spoken = messages.filter((one) => one.role !== "system");
    const mark = digest(JSON.stringify(spoken));
    // The same history again: a second attempt, or another question about the same words.
    if (this.seen.includes(mark)) return;
    this.seen.push(mark);
    if (this.seen.length > 64) this.seen.shift();
    const last = spoken.map((one) => one.role).lastIndexOf("assistant");
    const fresh = spoken.slice(last + 1);
    for (const one of fresh) for (const result of one.results) this.results.set(result.id, result);
    this.settle();
    for (const one of fresh) if (one.role === "user" && one.text) this.session.user(one.text);
  }

  /** The model's answer. */
  response(answer: Message): void {
    this.settle();
    if (answer.calls.length > 0) this.pending = { message: answer, at: Date.now() / 1000 };
    else if (answer.text) this.session.assistant(answer.text);
  }

  /** Records calls of tools whose results nobody waits for any more. */
  settle(): void {
    if (!this.pending) return;
    const { message, at } = this.pending;
    this.pending = undefined;
    const tools = message.calls.map((call) => {
      const result = this.results.get(call.id);
      const data: Record<string, unknown> = {};
      if (call.arguments !== undefined && call.arguments !== "") data.arguments = read(call.arguments);
      if (result) data.result = clean.json(result.value);
      const status = result ? { status: result.failed ? "error" : "success" } : {};
      return { tool_name: call.name || "unknown", tool_data: data, ...status };
    });
    this.results.clear();
    this.session.turn("Assistant", message.text, { tools, at });
  }
}

/** Arguments come as JSON text from some providers. */
function read(value: unknown): unknown {
  if (typeof value !== "string") return clean.json(value);
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** Two hashes and the length: enough to tell histories of one session apart. */
function digest(text: string): string {
  let a = 0x811c9dc5;
  let b = 0x01000193;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b + unit, 0x85ebca6b) ^ (b >>> 13);
  }
  return `${a >>> 0}-${b >>> 0}-${text.length}`;
}
