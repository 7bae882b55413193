/** A stand-in for OpenAI and Anthropic: calls the tool `weather` when asked about it, else repeats what it was told. */

import type { Reply, Request } from "./servers.js";

const ARGUMENTS = '{"city": "Oslo"}';

const textOf = (content: any): string =>
  typeof content === "string" ? content : (content ?? []).map((part: any) => part.text ?? "").join(" ");

const sse = (events: any[], named: boolean): string[] =>
  events.map((event) => `${named ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`);

/** The text, or undefined for a call of the tool. */
function reply(last: string, result: string | undefined): string | undefined {
  if (result !== undefined) return `It is ${result}.`;
  return last.includes("weather") ? undefined : `You said: ${last}`;
}

const halves = (text: string): string[] => [text.slice(0, 3), text.slice(3)];

function chat(body: any): unknown {
  const last = body.messages.at(-1);
  const text = reply(textOf(last.content), last.role === "tool" ? textOf(last.content) : undefined);
  const base = { id: "c1", created: 1, model: body.model };
  const finish_reason = text === undefined ? "tool_calls" : "stop";
  if (!body.stream) {
    const call = { id: "call_1", type: "function", function: { name: "weather", arguments: ARGUMENTS } };
    const message = { role: "assistant", content: text ?? null, tool_calls: text === undefined ? [call] : undefined };
    return { ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason }] };
  }
  const start = { index: 0, id: "call_1", type: "function", function: { name: "weather", arguments: "" } };
  const deltas: any[] =
    text === undefined
      ? [
          { role: "assistant", tool_calls: [start] },
          ...halves(ARGUMENTS).map((part) => ({ tool_calls: [{ index: 0, function: { arguments: part } }] })),
        ]
      : halves(text).map((content) => ({ role: "assistant", content }));
  const chunk = (delta: any, finish: string | null) => ({
    ...base,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const chunks = [...deltas.map((delta) => chunk(delta, null)), chunk({}, finish_reason)];
  return [...sse(chunks, false), "data: [DONE]\n\n"];
}

function responses(body: any): unknown {
  const last = typeof body.input === "string" ? { content: body.input } : body.input.at(-1);
  const text = reply(textOf(last.content), last.type === "function_call_output" ? last.output : undefined);
  const item =
    text === undefined
      ? { type: "function_call", id: "f1", call_id: "call_1", name: "weather", arguments: ARGUMENTS }
      : { type: "message", id: "m1", role: "assistant", content: [{ type: "output_text", text, annotations: [] }] };
  const whole = { id: "r1", object: "response", created_at: 1, model: body.model, status: "completed", output: [item] };
  if (!body.stream) return whole;
  return sse(
    [
      { type: "response.created", sequence_number: 0, response: { ...whole, output: [] } },
      { type: "response.output_item.done", sequence_number: 1, output_index: 0, item },
      { type: "response.completed", sequence_number: 2, response: whole },
    ],
    true,
  );
}

function anthropic(body: any): unknown {
  const last = body.messages.at(-1).content;
  const result = typeof last === "string" ? undefined : last.find((part: any) => part.type === "tool_result");
  const text = reply(textOf(last), result ? textOf(result.content) : undefined);
  const tool = { type: "tool_use", id: "call_1", name: "weather", input: { city: "Oslo" } };
  const stop_reason = text === undefined ? "tool_use" : "end_turn";
  const usage = { input_tokens: 1, output_tokens: 1 };
  const content = text === undefined ? [tool] : [{ type: "text", text }];
  const whole = { id: "m1", type: "message", role: "assistant", model: body.model, content, stop_reason, usage };
  if (!body.stream) return whole;
  const block = text === undefined ? { ...tool, input: {} } : { type: "text", text: "" };
  const deltas =
    text === undefined
      ? halves(ARGUMENTS).map((partial_json) => ({ type: "input_json_delta", partial_json }))
      : halves(text).map((part) => ({ type: "text_delta", text: part }));
  return sse(
    [
      { type: "message_start", message: { ...whole, content: [] } },
      { type: "content_block_start", index: 0, content_block: block },
      ...deltas.map((delta) => ({ type: "content_block_delta", index: 0, delta })),
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 1 } },
      { type: "message_stop" },
    ],
    true,
  );
}

export function provider(request: Request): Reply {
  if (request.path.endsWith("/chat/completions")) return [200, {}, chat(request.body)];
  if (request.path.endsWith("/responses")) return [200, {}, responses(request.body)];
  if (request.path.endsWith("/messages")) return [200, {}, anthropic(request.body)];
  return [404, {}, { error: { message: request.path } }];
}
