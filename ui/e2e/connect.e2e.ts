/** From an empty server to the first session: with a key made on the page, and in local mode without one. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { address, BINARY, expectAccessible, expectGoodLooks, launch, openPage, picture, visit } from "./support.ts";

/** Machines that test are busy machines. */
const SOON = { timeout: 20_000 };
const WAYS = ["curl", "Python", "TypeScript", "OpenTelemetry", "MCP", "Import"];

let browser: Browser;
let folder: string;
let server: ChildProcess;
let url: string;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser?.close());

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "evenhand-connect-"));
  server = spawn(BINARY, ["serve", "--data-dir", folder, "--listen", "127.0.0.1:0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  url = await address(server);
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: url });
  ({ page, complaints } = await openPage(context, url));
});

afterEach(async () => {
  await page.context().close();
  await new Promise<void>((gone) => {
    server.once("exit", () => gone());
    server.kill("SIGTERM");
  });
  rmSync(folder, { recursive: true, force: true });
});

const click = (name: string) => page.getByRole("button", { name, exact: true }).click();
const choose = async (way: string) => {
  await page.getByRole("tab", { name: way, exact: true }).click();
  await page.getByRole("tabpanel", { name: way, exact: true }).waitFor();
};
const waits = () => page.getByText("Waiting for the first session…").waitFor();
const arrived = () => page.getByText("First session arrived:").waitFor();
const blocks = () => page.getByRole("tabpanel").getByRole("region").allTextContents();
const clipboard = () => page.evaluate(() => navigator.clipboard.readText());

/** What the copy buttons of the open way put into the clipboard. */
async function copies(): Promise<string[]> {
  const copied: string[] = [];
  for (const button of await page.getByRole("button", { name: /^Copy: / }).all()) {
    await page.evaluate(() => navigator.clipboard.writeText(""));
    await button.click();
    await expect.poll(clipboard, SOON).not.toBe("");
    copied.push(await clipboard());
  }
  return copied;
}

async function signIn(role: string): Promise<void> {
  const args = ["keys", "create", "--role", role, "--data-dir", folder];
  const token = execFileSync(BINARY, args, { encoding: "utf8" }).trim();
  await page.goto(`${url}/overview`);
  await page.getByLabel("Token").fill(token);
  await click("Sign in");
}

it("makes a key, fills it in, and shows the session that the copied command publishes", async () => {
  await signIn("dashboard");
  await waits();
  await picture(page, "connect-no-key-yet");
  await click("Create a key");
  await page.getByRole("button", { name: "Copy the key" }).click();
  await expect.poll(clipboard, SOON).toMatch(/^eh_agent_\S{43}$/);
  const key = await clipboard();
  for (const way of WAYS) {
    await choose(way);
    const shown = await blocks();
    expect(shown.join("\n")).toContain(url);
    expect(shown.join("\n")).toContain(key);
    expect(await copies()).toEqual(shown);
  }
  expect(new URL(page.url()).search).toBe("?way=import");
  await choose("curl");
  const [command] = await blocks();
  const answer = JSON.parse(execFileSync("sh", ["-c", command ?? ""], { encoding: "utf8" }));
  expect(answer).toMatchObject({ success: true, warnings: [] });
  await arrived();
  await picture(page, "connect-arrived");
  await expectAccessible(page);
  // The key is still there for those who have not copied it yet.
  expect((await blocks())[0]).toContain(key);
  await page.getByRole("link", { name: "Open the session" }).click();
  await page.getByRole("complementary", { name: "Session hello-curl" }).waitFor();
  await page.getByText("Great, that works now.").first().waitFor();
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(key);
  expect(complaints).toEqual([]);
});

it("connects an agent from the empty page in 2 clicks: copy, and show the overview", async () => {
  await visit(page, `${url}/overview`, "Overview");
  await waits();
  await page.getByText("No key is needed").waitFor();
  await picture(page, "connect-local");
  await click("Copy: Publish a session");
  await expect.poll(clipboard, SOON).toContain("curl");
  const command = await clipboard();
  expect(command).not.toContain("Authorization");
  execFileSync("sh", ["-c", command]);
  await arrived();
  await click("Show the overview");
  await expect.poll(() => page.getByTestId("judged-sessions").textContent(), SOON).toBe("1");
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Connect" }).click();
  await page.getByRole("heading", { level: 1, name: "Connect your agent" }).waitFor();
  await page.getByText("Newest session:").waitFor();
  expect(complaints).toEqual([]);
});

it("tells an auditor who makes a key", async () => {
  await signIn("auditor");
  await waits();
  await page.getByText("somebody with a dashboard key makes one").waitFor();
  expect(await page.getByRole("button", { name: "Create a key" }).count()).toBe(0);
  expect((await blocks())[0]).toContain("Bearer EVENHAND_TOKEN");
  // Over plain HTTP from another machine there is no clipboard for pages.
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error("not here"));
  });
  await click("Copy: Publish a session");
  await expect.poll(clipboard, SOON).toBe((await blocks())[0]);
  expect(complaints).toEqual([]);
});

it("is accessible in both themes, fits narrow screens, and is found at its own address", async () => {
  await signIn("dashboard");
  await click("Create a key");
  for (const way of WAYS) {
    await choose(way);
    await expectGoodLooks(page, `connect-${way}`);
  }
  await visit(page, `${url}/connect?way=typescript`, "Connect your agent");
  await page.getByRole("tab", { name: "TypeScript", selected: true }).waitFor();
  expect((await blocks())[0]).toContain("EVENHAND_TOKEN");
  await visit(page, `${url}/sessions`, "Sessions");
  await waits();
  expect(complaints).toEqual([]);
});
