/** The real packages of OpenAI and Anthropic against a stand-in for their servers, recorded by the real Evenhand. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { wrap } from "@evenhand/client";
import OpenAI from "openai";
import { provider } from "./provider.js";
import { BINARY, client, Evenhand, problem, Stub } from "./servers.js";

const CHAT_TOOLS: any[] = [{ type: "function", function: { name: "weather", parameters: { type: "object" } } }];
const ANTHROPIC_TOOLS: any[] = [{ name: "weather", input_schema: { type: "object" } }];

/** A greeting, then a question that needs the tool. */
const expected = (status = "success") => [
  ["User", "hello", []],
  ["Assistant", "You said: hello", []],
  ["User", "How is the weather?", []],
  ["Assistant", "", [["weather", { arguments: { city: "Oslo" }, result: "sunny" }, status]]],
  ["Assistant", "It is sunny.", []],
];

describe("wrap", { skip: BINARY ? false : "BINARY names no binary" }, () => {
  let server: Evenhand;
  let model: Stub;
  before(async () => {
    server = await Evenhand.start();
    model = await Stub.start(provider);
  });
  after(async () => {
    model.stop();
    await server.stop();
  });

  async function recorded(user: string): Promise<any[]> {
    const turns = await server.turns(user);
    return turns.map((turn) => [
      turn.role,
      turn.content,
      turn.tools_used.map((tool: any) => [tool.tool_name, tool.tool_data, tool.status]),
    ]);
  }

  for (const way of ["plain", "stream", "helper", "raw"])
    test(`openai chat, ${way}`, async () => {
      const c = client(server.url);
      const session = c.session(`chat-${way}`, "s");
      const plain = new OpenAI({ apiKey: "k", baseURL: model.url, maxRetries: 0 });
      const openai = wrap(plain, session);
      assert.ok(openai instanceof OpenAI && openai !== plain);
      const create = async (messages: any[]): Promise<any> => {
        const given = { model: "m", messages, tools: CHAT_TOOLS };
        if (way === "raw") {
          const response = await openai.chat.completions.create(given).asResponse();
          return ((await response.json()) as any).choices[0].message;
        }
        if (way === "helper") return openai.chat.completions.stream(given).finalMessage();
        if (way === "plain") return (await openai.chat.completions.create(given)).choices[0]?.message;
        const message: any = { role: "assistant", content: "" };
        for await (const chunk of await openai.chat.completions.create({ ...given, stream: true })) {
          const delta = chunk.choices[0]?.delta;
          message.content += delta?.content ?? "";
          for (const part of delta?.tool_calls ?? []) {
            message.tool_calls ??= [{ id: "", type: "function", function: { name: "", arguments: "" } }];
            message.tool_calls[0].id += part.id ?? "";
            message.tool_calls[0].function.name += part.function?.name ?? "";
            message.tool_calls[0].function.arguments += part.function?.arguments ?? "";
          }
        }
        return message;
      };
      const history: any[] = [{ role: "system", content: "Be short." }];
      for (const content of ["hello", "How is the weather?"]) {
        history.push({ role: "user", content });
        for (;;) {
          const message = await create(history);
          history.push(message);
          if (!message.tool_calls?.length) break;
          history.push({ role: "tool", tool_call_id: message.tool_calls[0].id, content: "sunny" });
        }
      }
      await session.finish();
      assert.ok(await c.flush());
      const found = await recorded(`chat-${way}`);
      // Raw answers are not read: only what was asked is known.
      if (way === "raw")
        assert.deepEqual(
          found.filter(([role]) => role === "User").map(([, content]) => content),
          ["hello", "How is the weather?"],
        );
      else assert.deepEqual(found, expected());
    });

  for (const stream of [false, true])
    test(`openai responses, ${stream ? "stream" : "plain"}`, async () => {
      const c = client(server.url);
      const session = c.session(`responses-${stream}`, "s");
      const openai = wrap(new OpenAI({ apiKey: "k", baseURL: model.url, maxRetries: 0 }), session);
      const create = async (input: any): Promise<any> => {
        if (!stream) return openai.responses.create({ model: "m", input });
        let whole: any;
        for await (const event of await openai.responses.create({ model: "m", input, stream: true }))
          if (event.type === "response.completed") whole = event.response;
        return whole;
      };
      await create("hello");
      const history: any[] = [{ role: "user", content: "How is the weather?" }];
      const answer = await create(history);
      history.push(...answer.output, { type: "function_call_output", call_id: "call_1", output: "sunny" });
      await create(history);
      assert.ok(await c.flush());
      assert.deepEqual(await recorded(`responses-${stream}`), expected());
    });

  for (const way of ["plain", "stream", "helper"])
    test(`anthropic, ${way}`, async () => {
      const c = client(server.url);
      const session = c.session(`anthropic-${way}`, "s");
      const anthropic = wrap(new Anthropic({ apiKey: "k", baseURL: model.url, maxRetries: 0 }), session);
      assert.ok(anthropic instanceof Anthropic);
      const create = async (messages: any[]): Promise<any[]> => {
        const given = { model: "m", max_tokens: 9, messages, tools: ANTHROPIC_TOOLS };
        if (way === "plain") return (await anthropic.messages.create(given)).content;
        if (way === "helper") return (await anthropic.messages.stream(given).finalMessage()).content;
        let text = "";
        let tool: any;
        for await (const event of await anthropic.messages.create({ ...given, stream: true })) {
          if (event.type === "content_block_start" && event.content_block.type === "tool_use")
            tool = { type: "tool_use", id: event.content_block.id, name: "weather", input: { city: "Oslo" } };
          if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text;
        }
        return [tool ?? { type: "text", text }];
      };
      const history: any[] = [];
      for (const content of ["hello", "How is the weather?"]) {
        history.push({ role: "user", content });
        history.push({ role: "assistant", content: await create(history) });
      }
      const result = {
        type: "tool_result",
        tool_use_id: "call_1",
        content: "sunny",
        is_error: way === "plain",
      };
      history.push({ role: "user", content: [result] });
      await create(history);
      assert.ok(await c.flush());
      assert.deepEqual(await recorded(`anthropic-${way}`), expected(way === "plain" ? "error" : "success"));
    });

  test("the agent goes on without Evenhand", async () => {
    const c = client("http://127.0.0.1:1", { strict: false });
    const openai = wrap(new OpenAI({ apiKey: "k", baseURL: model.url }), c.session("u", "s"));
    const answer = await openai.chat.completions.create({
      model: "m",
      messages: [{ role: "user", content: "hello" }],
    });
    assert.equal(answer.choices[0]?.message.content, "You said: hello");
    assert.ok(c.stats().waiting > 0);
  });

  test("errors of the provider are the provider's", async () => {
    const broken = await Stub.start(() => problem(500, "broken"));
    const c = client(server.url);
    const openai = wrap(new OpenAI({ apiKey: "k", baseURL: broken.url, maxRetries: 0 }), c.session("broken", "s"));
    for (let attempt = 0; attempt < 2; attempt++)
      await assert.rejects(
        openai.chat.completions.create({ model: "m", messages: [{ role: "user", content: "hello" }] }),
        OpenAI.InternalServerError,
      );
    broken.stop();
    assert.ok(await c.flush());
    // The second attempt at the same words is not a second turn.
    assert.deepEqual(await recorded("broken"), [["User", "hello", []]]);
  });

  test("other clients are refused", () => {
    const session = client("http://127.0.0.1:1").session("u", "s");
    assert.throws(() => wrap({}, session), TypeError);
  });
});
