/** Reads the messages of OpenAI (chat and responses) and Anthropic. */

import { type Message, message } from "./conversation.js";

// Blocks that are no text are named, so that a transcript shows that there was something.
const NAMED: Record<string, string> = {
  image_url: "[image]",
  image: "[image]",
  input_image: "[image]",
  input_audio: "[audio]",
  file: "[file]",
  input_file: "[file]",
  document: "[document]",
};

/** The text of a message's content, whatever its form. */
export function textOf(content: any): string {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  const blocks: any[] = Array.isArray(content) ? content : [content];
  return blocks
    .map((block) => (typeof block === "string" ? block : (block?.text ?? block?.refusal ?? NAMED[block?.type] ?? "")))
    .filter((part) => typeof part === "string" && part)
    .join("\n");
}

function roleOf(name: unknown): Message["role"] {
  if (name === "assistant" || name === "tool" || name === "system") return name;
  return name === "developer" ? "system" : name === "function" ? "tool" : "user";
}

export function openaiChat(messages: any): Message[] {
  return Array.isArray(messages) ? messages.map(openaiMessage) : [];
}

export function openaiMessage(given: any): Message {
  const role = roleOf(given?.role);
  const text = textOf(given?.content) || String(given?.refusal ?? "");
  if (role === "tool")
    return message("tool", "", [], [{ id: String(given.tool_call_id ?? given.name), value: text, failed: false }]);
  const calls = (given?.tool_calls ?? []).map((call: any) => {
    const inner = call.function ?? call.custom ?? {};
    return { id: String(call.id), name: String(inner.name ?? ""), arguments: inner.arguments ?? inner.input };
  });
  return message(role, text, calls);
}

/** The `input` of the responses interface. */
export function openaiInput(given: any): Message[] {
  if (typeof given === "string") return [message("user", given)];
  if (!Array.isArray(given)) return [];
  return given.map((item) => {
    switch (item?.type ?? "message") {
      case "function_call":
      case "custom_tool_call": {
        const call = { id: String(item.call_id), name: String(item.name), arguments: item.arguments ?? item.input };
        return message("assistant", "", [call]);
      }
      case "function_call_output":
      case "custom_tool_call_output":
        return message("tool", "", [], [{ id: String(item.call_id), value: textOf(item.output), failed: false }]);
      case "message":
        return message(roleOf(item.role), textOf(item.content));
      default:
        // Reasoning and the provider's own tools stand between the assistant's words.
        return message("system");
    }
  });
}

/** The `output` of the responses interface. */
export function openaiOutput(items: any): Message {
  const said = openaiInput(items).filter((one) => one.role === "assistant");
  const text = said.map((one) => one.text).filter(Boolean);
  return message(
    "assistant",
    text.join("\n"),
    said.flatMap((one) => one.calls),
  );
}

export function anthropicChat(messages: any): Message[] {
  return Array.isArray(messages) ? messages.map(anthropicMessage) : [];
}

export function anthropicMessage(given: any): Message {
  const blocks: any[] = Array.isArray(given?.content) ? given.content : [];
  const calls = blocks
    .filter((block) => block?.type === "tool_use")
    .map((block) => ({ id: String(block.id), name: String(block.name), arguments: block.input }));
  const results = blocks
    .filter((block) => block?.type === "tool_result")
    .map((block) => ({
      id: String(block.tool_use_id),
      value: textOf(block.content),
      failed: Boolean(block.is_error),
    }));
  return message(roleOf(given?.role), textOf(given?.content), calls, results);
}
