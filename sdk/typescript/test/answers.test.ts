/** Answers that a real server gives rarely, from a server that gives them at once. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answerer, client, problem, type Reply, script, Stub, until } from "./servers.js";

async function stub(t: { after(run: () => void): void }, answer: Answerer): Promise<Stub> {
  const made = await Stub.start(answer);
  t.after(() => made.stop());
  return made;
}

const soon = () => new Date(Date.now() + 2000).toUTCString();
const later: [string, () => Reply, number][] = [
  ["429", () => problem(429, "rate_limited", [], { "retry-after": "1" }), 500],
  ["503", () => problem(503, "unavailable", [], { "retry-after": "1" }), 500],
  ["503 with a date", () => problem(503, "unavailable", [], { "retry-after": soon() }), 500],
  ["500", () => problem(500, "internal"), 0],
  ["401", () => problem(401, "unauthenticated"), 0],
  ["a proxy's 502", () => [502, {}, "page"], 0],
  ["a proxy's 404", () => [404, {}, "page"], 0],
];
for (const [name, reply, least] of later)
  test(`${name} is tried again with the same request`, async (t) => {
    const server = await stub(t, script(reply()));
    const c = client(server.url);
    const began = performance.now();
    c.session("u", "s").user("hello");
    assert.ok(await c.flush(20));
    const [first, second, ...more] = server.published();
    assert.deepEqual(first, second);
    assert.ok(first.request_id && more.length === 0 && c.stats().dropped === 0);
    assert.ok(performance.now() - began >= least);
  });

test("too large is split into the same halves", async (t) => {
  const server = await stub(t, (request) =>
    request.path === "/health/live" || request.body.interaction_data_list.length === 1
      ? [200, {}, {}]
      : problem(413, "body_too_large"),
  );
  const c = client(server.url);
  const s = c.session("u", "s");
  for (const name of ["0", "1", "2", "3"]) s.user(name);
  await s.finish();
  assert.ok(await c.flush());
  const taken = server.published().filter((body) => body.interaction_data_list.length === 1);
  assert.deepEqual(
    taken.map((body) => body.interaction_data_list[0].content),
    ["0", "1", "2", "3"],
  );
  assert.deepEqual(
    taken.map((body) => Boolean(body.session_finished)),
    [false, false, false, true],
  );
  const whole = server.published()[0].request_id;
  assert.deepEqual(
    taken.map((body) => body.request_id),
    ["aa", "ab", "ba", "bb"].map((end) => whole + end),
  );
});

test("refused parts are left out", async (t) => {
  const errors = [{ pointer: "/source" }, { pointer: "/interaction_data_list/0/user_action" }];
  const server = await stub(t, script(problem(422, "invalid_input", errors)));
  const c = client(server.url);
  c.session("u", "s", { source: "NOT ALLOWED" }).user("hello", { more: { user_action: "dance" as any } });
  assert.ok(await c.flush());
  const [first, second] = server.published();
  assert.equal(first.source, "NOT ALLOWED");
  assert.ok(second.source === undefined && second.interaction_data_list[0].user_action === undefined);
  assert.ok(second.interaction_data_list[0].content === "hello" && first.request_id === second.request_id);
});

test("a person who was forgotten stays so", async (t) => {
  const server = await stub(t, script(problem(409, "subject_erased")));
  const c = client(server.url);
  c.session("u", "s").user("hello");
  assert.ok(await c.flush());
  assert.ok(c.stats().dropped === 1 && server.published().length === 1);
});

for (const hours of [-5, 5])
  test(`times are the server's, ${hours} hours off`, async (t) => {
    const now = () => Date.now() + hours * 3600_000;
    const server = await stub(t, () => [200, { date: new Date(now()).toUTCString() }, {}]);
    const c = client(server.url);
    const s = c.session("u", "s");
    s.user("hello");
    s.outcome("success");
    assert.ok(await c.flush());
    const [body] = server.published();
    const outcome = server.requests.find((one) => one.path === "/api/session_outcome")?.body;
    for (const told of [body.created_at, body.interaction_data_list[0].created_at, outcome.occurred_at])
      assert.ok(Math.abs(told - now() / 1000) < 30);
  });

test("a clock that jumped costs only the times", async (t) => {
  const errors = [{ pointer: "/created_at" }, { pointer: "/interaction_data_list/0/created_at" }];
  const server = await stub(t, script(problem(422, "invalid_input", errors)));
  const c = client(server.url);
  c.session("u", "s").user("hello", { at: Date.now() / 1000 + 7200 });
  assert.ok(await c.flush());
  const second = server.published()[1];
  assert.equal(second.created_at, undefined);
  assert.deepEqual(second.interaction_data_list, [{ role: "User", content: "hello" }]);
});

test("a slow server holds nobody up", async (t) => {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const server = await stub(t, async () => {
    await released;
    return [200, {}, {}];
  });
  const c = client(server.url, { timeout: 0.3, exitTimeout: 0.3, strict: false });
  const began = performance.now();
  const s = c.session("u", "s");
  const found = await s.search("tea", { timeout: 0.3 });
  s.user("hello");
  assert.equal(await s.finish(), false);
  assert.ok(performance.now() - began < 2000);
  assert.ok(found.empty && found.error === "timeout" && found.text() === "");
  await until(() => c.stats().lastError === "timeout", 20, "the delivery timed out");
  release();
  assert.ok(await c.flush(20));
  const sent = server.published();
  for (const body of sent) assert.deepEqual(body, sent[0]);
});

test("nothing throws into the agent", async () => {
  const said: string[] = [];
  const options = { strict: false, exitTimeout: 0.1, log: (_: string, line: string) => void said.push(line) };
  const c = client("http://127.0.0.1:1", options);
  const s = c.session("", "");
  s.user("no user");
  const odd = {
    toString() {
      throw new Error("no text");
    },
  };
  c.session("u", "s").user(odd as any);
  c.outcome("s", "wonderful" as any);
  assert.ok((await s.search("tea")).empty);
  assert.equal(await s.finish(), false);
  assert.ok(said.length >= 4);
});

test("strict throws", async () => {
  const c = client("http://127.0.0.1:1");
  assert.throws(() => c.outcome("s", "wonderful" as any));
  assert.throws(() => c.session("", "s").user("x"));
  await assert.rejects(c.search("tea"));
});

test("values the server cannot take", async (t) => {
  const server = await stub(t, script());
  const c = client(server.url);
  const cyclic: any = { big: 7n, nan: Number.NaN, set: new Set([1]), nul: "a\0b" };
  cyclic.self = cyclic;
  c.session("u", "s").assistant("half \ud800 and \0", { tools: [{ tool_name: "t", tool_data: cyclic }] });
  c.session("u", "s").user("x".repeat(1_000_001));
  assert.ok(await c.flush());
  const turns = server.published().flatMap((body) => body.interaction_data_list);
  assert.equal(turns[0].content, "half \ufffd and \ufffd");
  assert.equal(turns[0].tools_used[0].tool_data.nan, null);
  assert.equal(turns[1].content.length, 1_000_000);
});
