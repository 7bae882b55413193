/** A tab that stays open while the server goes, comes back, has another version, or ends the session. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { expectAccessible, launch, picture, settled, visit } from "./support.ts";
import { OwnServer, PAGES } from "./support-server.ts";

let server: OwnServer;
let url: string;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  [server, browser] = await Promise.all([new OwnServer().start(), launch()]);
  url = server.url;
});

afterAll(async () => {
  await browser?.close();
  await server?.remove();
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
  await server.end("SIGKILL");
  await follow("Jobs");
  await heading(unloaded);
  await expectAccessible(page);
  await picture(page, "recovery-server-away");
  await server.start();
  await heading("Jobs and judge health");
  expect(new URL(page.url()).pathname).toBe("/jobs");
});

it("keeps every open page through a killed server, with one message, and goes on when it is back", async () => {
  const tabs: { tab: Page; name: string }[] = [];
  for (const [path, name] of PAGES) {
    const tab = await browser.newPage();
    await visit(tab, url + path, name);
    tabs.push({ tab, name });
  }
  const away = "The server cannot be reached.";
  await server.end("SIGKILL");
  for (const { tab, name } of tabs) {
    await tab.getByText(away).waitFor({ timeout: 60_000 });
    expect(await tab.getByRole("alert").count()).toBe(1);
    expect(await tab.getByRole("heading", { level: 1, name }).count()).toBe(1);
    expect(await tab.getByText("No session matches").count()).toBe(0);
  }
  await expectAccessible(tabs[0]?.tab as Page);
  await picture(tabs[0]?.tab as Page, "recovery-banner");
  await server.start();
  for (const { tab, name } of tabs) {
    await tab.getByText(away).waitFor({ state: "detached", timeout: 60_000 });
    await tab.getByRole("heading", { level: 1, name }).waitFor();
    await settled(tab);
    await tab.close();
  }
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
  await call("POST", "/api/publish_interaction", {
    user_id: "ada",
    session_id: "only",
    interaction_data_list: [{ role: "User", content: "Where is my parcel?" }],
  });
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
  await page.getByRole("searchbox", { name: "User" }).fill("ada");
  await page.getByLabel("Token").waitFor();
  await signIn(second.token);
  await heading("Sessions");
  expect(new URL(page.url()).search).toBe("?range=90d&user=ada");
  expect(await page.getByRole("searchbox", { name: "User" }).inputValue()).toBe("ada");
});
