/** A tab that stays open while the server goes, comes back, has another version, or ends the session. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { address, BINARY, expectAccessible, launch, picture, settled, visit } from "./support.ts";

let folder: string;
let server: ChildProcess;
let url: string;
let browser: Browser;
let page: Page;

async function start(listen: string): Promise<void> {
  server = spawn(BINARY, ["serve", "--data-dir", folder, "--listen", listen], { stdio: ["ignore", "pipe", "inherit"] });
  url = await address(server);
}

function stop(signal: NodeJS.Signals): Promise<void> {
  return new Promise((gone) => {
    server.once("exit", () => gone());
    server.kill(signal);
  });
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "evenhand-recovery-"));
  [browser] = await Promise.all([launch(), start("127.0.0.1:0")]);
});

afterAll(async () => {
  await browser?.close();
  await stop("SIGTERM");
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  page = await browser.newPage();
});

afterEach(() => page.close());

const heading = (name: string) => page.getByRole("heading", { level: 1, name }).waitFor();
const follow = (name: string) => page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name }).click();
const unloaded = "This page could not be loaded";

/** How often the document is asked for from now on. */
function loads(): { count: number } {
  const seen = { count: 0 };
  page.on("request", (request) => {
    if (request.isNavigationRequest()) seen.count += 1;
  });
  return seen;
}

it("waits for a server that was killed, and opens the page when it is back", async () => {
  await visit(page, `${url}/overview`, "Overview");
  await stop("SIGKILL");
  await follow("Jobs");
  await heading(unloaded);
  await expectAccessible(page);
  await picture(page, "recovery-server-away");
  await start(new URL(url).host);
  await heading("Jobs and judge health");
  expect(new URL(page.url()).pathname).toBe("/jobs");
});

it("reloads when the server has the page's code under another name", async () => {
  await visit(page, `${url}/overview`, "Overview");
  const seen = loads();
  // The name that this tab knows is not the server's any more, until it has read the document again.
  await page.route(/\/assets\/.*\.js$/, (route) =>
    seen.count === 0 ? route.continue({ url: `${url}/assets/gone-0000.js` }) : route.continue(),
  );
  await follow("Sessions");
  await heading("Sessions");
  expect(seen.count).toBe(1);
});

it("reloads once only, then leaves it to people", async () => {
  await visit(page, `${url}/overview`, "Overview");
  const seen = loads();
  const known = new Set(await page.evaluate(() => performance.getEntriesByType("resource").map((entry) => entry.name)));
  await page.route(/\/assets\/.*\.js$/, (route) =>
    route.continue(known.has(route.request().url()) ? {} : { url: `${url}/assets/gone-0000.js` }),
  );
  await follow("Learnings");
  await page.getByText("does not have this page's code").waitFor();
  expect(seen.count).toBe(1);
  await page.unroute(/\/assets\/.*\.js$/);
  await page.getByRole("button", { name: "Reload" }).click();
  await heading("Learnings");
});

it("asks to sign in when the session has ended, and goes on at the same address", async () => {
  const call = async (method: string, path: string, body: unknown, token?: string) => {
    const headers = { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    const answer = await fetch(url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
    expect(answer.status).toBe(200);
    return (await answer.json()) as { token: string; key: { credential_id: string } };
  };
  const first = await call("POST", "/api/keys", { role: "dashboard", name: "first" });
  const second = await call("POST", "/api/keys", { role: "dashboard", name: "second" }, first.token);
  const signIn = async (token: string) => {
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
  };
  await page.goto(`${url}/sessions?range=90d`);
  await signIn(first.token);
  await heading("Sessions");
  await settled(page);
  await call("DELETE", `/api/keys/${first.key.credential_id}`, undefined, second.token);
  await follow("Jobs");
  await page.getByLabel("Token").waitFor();
  expect(new URL(page.url()).pathname).toBe("/jobs");
  await signIn(second.token);
  await heading("Jobs and judge health");
});
