/** Put answers together from the events of streams. */

import { type Call, type Message, message } from "./conversation.js";
import { openaiOutput } from "./messages.js";

export interface Parts {
  add(event: any): void;
  message(): Message;
}

const inOrder = <T>(parts: Map<number, T>): T[] => [...parts].sort(([a], [b]) => a - b).map(([, part]) => part);

/** Chunks of a chat completion. */
export class OpenAIChat implements Parts {
  private text = "";
  private readonly calls = new Map<number, Call & { arguments: string }>();

  add(chunk: any): void {
    const delta = chunk?.choices?.[0]?.delta;
    this.text += delta?.content ?? delta?.refusal ?? "";
    for (const part of delta?.tool_calls ?? []) {
      const index = part.index ?? 0;
      const call = this.calls.get(index) ?? { id: "", name: "", arguments: "" };
      this.calls.set(index, call);
      call.id = part.id ?? call.id;
      call.name += part.function?.name ?? "";
      call.arguments += part.function?.arguments ?? "";
    }
  }

  message(): Message {
    return message("assistant", this.text, inOrder(this.calls));
  }
}

/** Events of a response: the last one has it whole; until then, words and finished items. */
export class OpenAIResponse implements Parts {
  private text = "";
  private readonly items: any[] = [];
  private whole: Message | undefined;

  add(event: any): void {
    if (event?.type === "response.output_text.delta") this.text += event.delta;
    else if (event?.type === "response.output_item.done") this.items.push(event.item);
    else if (event?.type === "response.completed" || event?.type === "response.incomplete")
      this.whole = openaiOutput(event.response.output);
  }

  message(): Message {
    if (this.whole) return this.whole;
    const made = openaiOutput(this.items);
    return { ...made, text: made.text || this.text };
  }
}

/** Events of a message of Anthropic. */
export class AnthropicMessages implements Parts {
  private readonly text = new Map<number, string>();
  private readonly calls = new Map<number, Call & { arguments: string }>();

  add(event: any): void {
    const index = event?.index ?? 0;
    if (event?.type === "content_block_start") {
      const block = event.content_block;
      if (block?.type === "tool_use") this.calls.set(index, { id: block.id, name: block.name, arguments: "" });
      else if (block?.type === "text") this.text.set(index, block.text ?? "");
    } else if (event?.type === "content_block_delta") {
      const delta = event.delta;
      const call = this.calls.get(index);
      if (delta?.type === "text_delta") this.text.set(index, (this.text.get(index) ?? "") + delta.text);
      else if (delta?.type === "input_json_delta" && call) call.arguments += delta.partial_json;
    }
  }

  message(): Message {
    return message("assistant", inOrder(this.text).filter(Boolean).join("\n"), inOrder(this.calls));
  }
}
