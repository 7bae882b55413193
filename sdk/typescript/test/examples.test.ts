/** The lines in the README and the programs under examples/, run as they stand, against the real server. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { provider } from "./provider.js";
import { BINARY, Evenhand, folder, Stub, until } from "./servers.js";

const PACKAGE = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const ROOT = path.join(PACKAGE, "..", "..");
const EXAMPLES: Record<string, [session: string, turns: number]> = {
  "first-session": ["chat-1", 2],
  "openai-agent": ["openai-1", 3],
  "anthropic-agent": ["anthropic-1", 2],
};

/** Copies a program to a place where it finds this package and the others. */
function placed(name: string, source: string): string {
  const place = path.join(PACKAGE, "dist", "examples");
  fs.mkdirSync(place, { recursive: true });
  fs.writeFileSync(path.join(place, `${name}.mjs`), source);
  return path.join(place, `${name}.mjs`);
}

describe("examples", { skip: BINARY ? false : "BINARY names no binary" }, () => {
  let server: Evenhand;
  let model: Stub;
  before(async () => {
    model = await Stub.start(provider);
  });
  after(() => model.stop());

  async function run(program: string): Promise<string> {
    server = await Evenhand.start();
    const env = {
      ...process.env,
      EVENHAND_URL: server.url,
      XDG_STATE_HOME: folder(),
      OPENAI_API_KEY: "k",
      OPENAI_BASE_URL: model.url,
      ANTHROPIC_API_KEY: "k",
      ANTHROPIC_BASE_URL: model.url,
    };
    return (await promisify(execFile)(process.execPath, [program], { env })).stdout;
  }

  test("the lines in the README", async (t) => {
    t.after(() => server.stop());
    const readme = fs.readFileSync(path.join(ROOT, "README.md"), "utf8");
    const section = readme.split("## From your agent")[1]?.split("\n## ")[0] ?? "";
    const lines = section.match(/```ts\n([\s\S]*?)```/)?.[1] ?? "";
    assert.equal(lines.split("\n").filter((line) => line.trim()).length, 5);
    await run(placed("five-lines", lines));
    const found = await until(async () => {
      const one = await server.session("ada", "chat-2");
      return one?.finished_at == null ? undefined : one;
    });
    assert.equal(found.interaction_count, 2);
  });

  for (const [name, [session, turns]] of Object.entries(EXAMPLES))
    test(name, async (t) => {
      t.after(() => server.stop());
      const source = fs.readFileSync(path.join(ROOT, "examples", "typescript", `${name}.mjs`), "utf8");
      assert.ok((await run(placed(name, source))).trim());
      assert.equal((await until(() => server.session("ada", session))).interaction_count, turns);
    });

  test("worker", async (t) => {
    server = await Evenhand.start();
    t.after(() => server.stop());
    const source = fs.readFileSync(path.join(ROOT, "examples", "typescript", "worker.mjs"), "utf8");
    const worker = (await import(pathToFileURL(placed("worker", source)).href)).default;
    const later: Promise<unknown>[] = [];
    const request = new Request("http://worker/", { method: "POST", body: "hi", headers: { "x-user": "ada" } });
    const context = { waitUntil: (one: Promise<unknown>) => later.push(one) };
    process.env.XDG_STATE_HOME = folder();
    const answer = await worker.fetch(request, { EVENHAND_URL: server.url }, context);
    assert.equal(await answer.text(), "It arrives on Tuesday.");
    await Promise.all(later);
    await until(async () => (await server.turns("ada")).length === 2, 20, "the turns arrived");
  });

  test("no example is left out", () => {
    const files = fs.readdirSync(path.join(ROOT, "examples", "typescript")).map((file) => path.parse(file).name);
    assert.deepEqual(files.sort(), [...Object.keys(EXAMPLES), "worker"].sort());
  });
});
