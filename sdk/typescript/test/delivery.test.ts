/** Delivery to the real server: everything arrives, and once, whatever is stopped meanwhile. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import * as readline from "node:readline";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { BINARY, client, Evenhand, folder, until } from "./servers.js";

// The server is away that long; the minute of the issue is AWAY_SECONDS=60.
const AWAY = Number(process.env.AWAY_SECONDS ?? 10);
const HERE = path.dirname(fileURLToPath(import.meta.url));
const names = (count: number) => Array.from({ length: count }, (_, number) => `turn ${number}`);

/** How many turns were recorded before kill -9. */
async function publishUntilKilled(url: string, spool: string, user: string, count: number): Promise<number> {
  const child = spawn(process.execPath, [path.join(HERE, "publisher.js"), url, spool, user], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  // Its output ends a moment before it does, and until then its spool is its own.
  const ended = new Promise((resolve) => child.once("exit", resolve));
  let last = -1;
  for await (const line of readline.createInterface({ input: child.stdout })) {
    last = Number(line);
    if (last >= count) child.kill("SIGKILL");
  }
  await ended;
  return last + 1;
}

/** The turn whose call was being killed may be there or not; all before it are, and each once. */
function once(found: string[], recorded: number): void {
  assert.equal(new Set(found).size, found.length, "a turn arrived twice");
  assert.ok(found.length >= recorded && found.length <= recorded + 1, `${found.length} of ${recorded}`);
  for (const name of names(recorded)) assert.ok(found.includes(name), name);
}

describe("delivery", { skip: BINARY ? false : "BINARY names no binary" }, () => {
  let server: Evenhand;
  before(async () => {
    server = await Evenhand.start();
  });
  after(() => server.stop());

  test("a session arrives and is judged", async () => {
    const c = client(server.url);
    const s = c.session("judged", "s", { source: "web", agentVersion: "v7" });
    s.user("Where is my parcel?");
    s.assistant("It arrives on Tuesday.", { tools: ["look_up_order", { tool_name: "map", tool_data: { x: 1 } }] });
    await s.finish();
    c.outcome("s", "success", { user: "judged", value: 2.5, metadata: { order: 7 } });
    assert.ok(await c.flush());
    const found = await until(async () => {
      const one = await server.session("judged", "s");
      return one?.is_success === null ? undefined : one;
    });
    assert.deepEqual([found.source, found.agent_version, found.interaction_count], ["web", "v7", 2]);
    const turns = await server.turns("judged");
    assert.deepEqual(
      turns.map((turn) => turn.role),
      ["User", "Assistant"],
    );
    assert.equal(turns[1].tools_used[1].tool_data.x, 1);
    const { session_outcomes } = await server.call("/api/get_session_outcomes", { session_ids: ["s"] });
    assert.equal(session_outcomes[0].value, 2.5);
    const listed = await c.api("get", "/api/sessions", { query: { user_id: "judged" } });
    assert.equal(listed.sessions[0]?.session_id, "s");
    const whole = await c.api("get", "/api/sessions/{user_id}/{session_id}", {
      path: { user_id: "judged", session_id: "s" },
    });
    assert.equal(whole.interactions.length, 2);
  });

  test("turns are batched in order", async () => {
    const c = client(server.url, { batchTurns: 7, batchSeconds: 5 });
    const s = c.session("batched", "s");
    for (const name of names(50)) s.user(name);
    assert.ok(await c.flush());
    assert.deepEqual(await server.contents("batched"), names(50));
    assert.equal((await server.session("batched", "s")).request_count, 8);
  });

  test("what a search found goes with the next answer", async () => {
    const c = client(server.url);
    await c.api("post", "/api/add_user_profile", {
      body: { user_profiles: [{ user_id: "searched", content: "likes green tea", profile_id: "p1" }] },
    } as any);
    const s = c.session("searched", "s");
    s.user("tea?");
    const found = await s.search("green tea");
    assert.equal(found.text(), "- likes green tea");
    s.assistant("Green tea.");
    s.assistant("Anything else?");
    assert.ok(await c.flush());
    const turns = await server.turns("searched");
    assert.deepEqual(
      turns.map((turn) => turn.retrieved_learnings.map((one: any) => one.learning_id)),
      [[], ["p1"], []],
    );
  });

  test("a killed process loses and doubles nothing", async () => {
    const spool = folder();
    const recorded = await publishUntilKilled(server.url, spool, "killed", 400);
    assert.ok(await client(server.url, { spool }).flush(60));
    once(await server.contents("killed"), recorded);
  });

  test("a living process keeps its spool", async () => {
    const spool = folder();
    const first = client(server.url, { spool, batchSeconds: 60 });
    const s = first.session("alive", "s");
    s.user("mine");
    assert.ok(await client(server.url, { spool }).flush());
    assert.equal(await server.session("alive", "s"), undefined);
    s.user("mine too");
    assert.ok(await first.flush());
    assert.deepEqual(await server.contents("alive"), ["mine", "mine too"]);
  });

  test("duplicate delivery", async () => {
    // As after a crash between the answer and the removal from the spool.
    const spool = folder();
    const id = "f".repeat(32);
    const turn = { role: "User", content: "only once", created_at: Math.floor(Date.now() / 1000) };
    const body = { request_id: id, user_id: "twice", session_id: "s", interaction_data_list: [turn] };
    await server.call("/api/publish_interaction", body);
    const left = path.join(spool, "1-left");
    fs.mkdirSync(left);
    fs.writeFileSync(path.join(left, "owner"), JSON.stringify({ pid: 1, host: "", began: "", ended: true }));
    fs.writeFileSync(
      path.join(left, `0000000000001-000001-${id}.json`),
      JSON.stringify({ path: "/api/publish_interaction", body }),
    );
    const c = client(server.url, { spool });
    assert.ok(await c.flush());
    assert.deepEqual(await server.contents("twice"), ["only once"]);
    assert.ok(!fs.existsSync(left) && c.stats().waiting === 0);
  });

  test("a damaged file does not stop the others", async () => {
    const spool = folder();
    const left = path.join(spool, "1-left");
    fs.mkdirSync(left);
    fs.writeFileSync(path.join(left, "owner"), JSON.stringify({ ended: true }));
    fs.writeFileSync(path.join(left, "0000000000001-000001-e.json"), "");
    fs.writeFileSync(path.join(left, "0000000000001-000002-e.open"), "\0\n{");
    const c = client(server.url, { spool });
    c.session("damaged", "s").user("goes on");
    assert.ok(await c.flush());
    assert.deepEqual(await server.contents("damaged"), ["goes on"]);
  });

  test("memory serves without a folder", async () => {
    const file = path.join(folder(), "file");
    fs.writeFileSync(file, "in the way");
    for (const spool of [path.join(file, "spool"), false] as const) {
      const c = client(server.url, { spool });
      c.session("memory", `s${Boolean(spool)}`).user("hello");
      assert.ok(await c.flush());
    }
    assert.equal((await server.contents("memory")).length, 2);
  });

  test("an outcome before its session", async () => {
    const c = client(server.url);
    c.outcome("early", "failure", { user: "early" });
    await until(() => c.delivery.aside.size > 0, 20, "the outcome was set aside");
    c.session("early", "early").user("hello");
    assert.ok(await c.flush(20));
    const { session_outcomes } = await server.call("/api/get_session_outcomes", { session_ids: ["early"] });
    assert.equal(session_outcomes[0].outcome, "failure");
  });
});

describe("a server that is away", { skip: BINARY ? false : "BINARY names no binary" }, () => {
  test("a thousand turns meanwhile", async (t) => {
    const server = await Evenhand.start();
    t.after(() => server.stop());
    const c = client(server.url, { batchTurns: 20 });
    const sessions = Array.from({ length: 10 }, (_, number) => c.session("away", `s${number}`));
    const began = performance.now();
    let slowest = 0;
    for (const [number, name] of names(1000).entries()) {
      if (number === 100) await server.stop("SIGKILL");
      const called = performance.now();
      sessions[number % 10]?.user(name);
      slowest = Math.max(slowest, performance.now() - called);
    }
    const took = performance.now() - began;
    await until(() => c.stats().lastError, 20, "the client noticed");
    await until(() => performance.now() - began >= AWAY * 1000, AWAY + 5, "the server was away long enough");
    await server.start();
    assert.ok(await c.flush(60));
    assert.deepEqual((await server.contents("away")).sort(), names(1000).sort());
    assert.equal(c.stats().dropped + c.stats().waiting, 0);
    t.diagnostic(
      `1,000 turns in ${(took / 1000).toFixed(2)} s, the slowest call ${slowest.toFixed(1)} ms, ${AWAY} s away`,
    );
  });

  test("and the process is killed, too", async (t) => {
    const server = await Evenhand.start();
    t.after(() => server.stop());
    await server.stop();
    const spool = folder();
    const recorded = await publishUntilKilled(server.url, spool, "both", 100);
    await server.start();
    assert.ok(await client(server.url, { spool }).flush(60));
    once(await server.contents("both"), recorded);
  });

  test("the spool is bounded", async (t) => {
    const server = await Evenhand.start();
    t.after(() => server.stop());
    await server.stop();
    const spool = folder();
    const c = client(server.url, { spool, maxSpoolBytes: 100_000, batchTurns: 10 });
    const s = c.session("bounded", "s");
    for (const name of names(1000)) s.user(`${name} ${"x".repeat(1000)}`);
    const files = fs.readdirSync(spool, { recursive: true }).map((file) => path.join(spool, String(file)));
    assert.ok(
      files.reduce((sum, file) => sum + (fs.statSync(file).isFile() ? fs.statSync(file).size : 0), 0) < 110_000,
    );
    const { dropped, waitingBytes } = c.stats();
    assert.ok(dropped > 800 && waitingBytes <= 100_000);
    await server.start();
    assert.ok(await c.flush(60));
    // Turns that were taken are kept: the oldest.
    const found = (await server.contents("bounded")).map((content) => content.split(" x")[0]);
    assert.deepEqual(found, names(1000 - dropped));
    s.user("there is room again");
    assert.ok(await c.flush());
    assert.ok((await server.contents("bounded")).includes("there is room again"));
  });

  test("a wrong key keeps everything", async (t) => {
    const server = await Evenhand.start();
    t.after(() => server.stop());
    const key = server.key("agent");
    const spool = folder();
    const wrong = client(server.url, { spool, apiKey: `eh_agent_${"x".repeat(43)}`, strict: false });
    const s = wrong.session("keyed", "s");
    s.user("hello");
    assert.ok((await s.search("anything")).error);
    await s.finish();
    await until(() => wrong.stats().lastError?.startsWith("401"), 20, "the key was refused");
    assert.equal(wrong.stats().dropped, 0);
    await wrong.close();
    assert.ok(await client(server.url, { spool, apiKey: key }).flush());
    server.headers = { authorization: `Bearer ${key}` };
    assert.deepEqual(await server.contents("keyed"), ["hello"]);
  });
});
