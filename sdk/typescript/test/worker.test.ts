/** The entry for workers: no module of Node is loaded, and batches stay in memory, bounded. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { script, Stub } from "./servers.js";

const ENTRY = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "index.js");

/** The files that an entry imports, directly or not. */
function imported(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  const source = fs.readFileSync(file, "utf8");
  for (const [, name = ""] of source.matchAll(/(?:from|import) "([^"]+)"/g)) {
    assert.ok(name.startsWith("."), `${path.basename(file)} imports ${name}`);
    imported(path.join(path.dirname(file), name), found);
  }
  return found;
}

test("nothing of Node is imported", () => {
  const names = [...imported(ENTRY)].map((file) => path.basename(file));
  assert.ok(names.includes("delivery.js") && !names.includes("disk.js") && !names.includes("node.js"));
});

test("memory is bounded, and flush delivers", async (t) => {
  const server = await Stub.start(script());
  t.after(() => server.stop());
  // A program of its own, started with the condition that workers' bundlers use.
  const program = `
    import { Client } from "@evenhand/client";
    globalThis.crypto ??= (await import("node:crypto")).webcrypto;
    const client = new Client({ url: ${JSON.stringify(server.url)}, maxSpoolBytes: 20000, log: () => {} });
    const session = client.session("u", "s");
    for (let number = 0; number < 100; number++) session.user("x".repeat(1000));
    const { dropped, waitingBytes } = client.stats();
    console.log(JSON.stringify({ dropped, waitingBytes, delivered: await client.flush() }));
  `;
  const arguments_ = ["--conditions=workerd", "--input-type=module", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, arguments_);
  const said = JSON.parse(stdout);
  assert.ok(said.dropped > 50 && said.waitingBytes <= 20_000 && said.delivered);
  assert.equal(server.published().flatMap((body) => body.interaction_data_list).length, 100 - said.dropped);
});
