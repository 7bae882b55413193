/** The dashboard where little or nothing is known, in other time zones, on narrow screens, and for a governance key. */
import type { Browser, BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { expectAccessible, launch, openPage, picture, settled, visit } from "./support.ts";
import { OwnServer, PAGES } from "./support-server.ts";

let server: OwnServer;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([new OwnServer().start(), launch()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.remove();
});

async function open(options: BrowserContextOptions = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  return { context, ...(await openPage(context, server.url)) };
}

/** Every page opens, says something, and prints no number that is none. */
async function expectWholePages(name: string): Promise<void> {
  const { context, page, complaints } = await open();
  for (const [path, heading] of PAGES) {
    await visit(page, server.url + path, heading);
    expect(await page.locator("main").innerText()).not.toMatch(/NaN|undefined|Infinity|\bnull\b/);
    await picture(page, `${name}-${path.slice(1)}`);
  }
  expect(complaints).toEqual([]);
  await context.close();
}

it("shows every page of an empty server", () => expectWholePages("empty"));

it("shows every page with a single session, and that one on the trend", async () => {
  const published = await fetch(`${server.url}/api/publish_interaction`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      user_id: "ada",
      session_id: "only",
      session_finished: true,
      interaction_data_list: [
        { role: "User", content: "Where is my parcel?" },
        { role: "Assistant", content: "It arrives on Tuesday." },
        { role: "User", content: "Great, that works now. Thank you!" },
      ],
    }),
  });
  expect(published.status).toBe(200);
  await expectWholePages("single");
  const { context, page } = await open();
  await visit(page, `${server.url}/overview`, "Overview");
  await expect.poll(() => page.getByTestId("judged-sessions").textContent(), { timeout: 20_000 }).toBe("1");
  await page.getByRole("img", { name: /Success rate: 1 days/ }).waitFor();
  await visit(page, `${server.url}/sessions`, "Sessions");
  await page.getByText("1 session in all").waitFor();
  await page.getByRole("button", { name: "Open session only of ada" }).getByText("Where is my parcel?").waitFor();
  await context.close();
});

it("has the same ticks in Tokyo and Los Angeles", async () => {
  const ticks = async (timezoneId: string, search: string) => {
    const { context, page } = await open({ timezoneId });
    await visit(page, `${server.url}/overview${search}`, "Overview");
    const texts = await page.locator("[data-tick] text").allTextContents();
    await context.close();
    return texts;
  };
  for (const search of ["?range=90d", "?range=7d"]) {
    const tokyo = await ticks("Asia/Tokyo", search);
    expect(tokyo.length).toBeGreaterThan(2);
    expect(await ticks("America/Los_Angeles", search)).toEqual(tokyo);
  }
});

it("keeps something on the screen while a slow network answers", async () => {
  const { context, page, complaints } = await open();
  let release = () => {};
  const held = new Promise<void>((go) => {
    release = go;
  });
  await page.route("**/auth/session", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${server.url}/overview`);
  await page.getByText("Evenhand", { exact: true }).waitFor();
  expect(await page.locator(".skeleton").count()).toBeGreaterThan(0);
  await picture(page, "slow-who");
  let answer = () => {};
  const answered = new Promise<void>((go) => {
    answer = go;
  });
  await page.route("**/api/get_evaluation_overview", async (route) => {
    await answered;
    await route.continue();
  });
  release();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  expect(await page.locator(".skeleton").count()).toBeGreaterThan(0);
  await picture(page, "slow-overview");
  answer();
  await page.getByTestId("judged-sessions").waitFor();
  expect(complaints).toEqual([]);
  await context.close();
});

it("has a page for an address without one", async () => {
  const { context, page } = await open();
  const answer = await page.goto(`${server.url}/no/such/page`);
  expect(answer?.status()).toBe(404);
  await page.getByRole("heading", { level: 1, name: "There is no such page" }).waitFor();
  await visit(page, `${server.url}/sessions/of/nobody`, "There is no such page");
  await expectAccessible(page);
  await picture(page, "no-such-page");
  await page.getByRole("link", { name: "Go to the overview" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await context.close();
});

it("shows a governance key the Governance page only", async () => {
  const token = server.key("governance");
  const { context, page, complaints } = await open();
  await page.goto(`${server.url}/overview`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Governance" }).waitFor();
  const pages = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
  expect(await pages.allTextContents()).toEqual(["Governance"]);
  await page.getByLabel("User id").fill("ada");
  await page.getByRole("button", { name: "Look up" }).click();
  await page.getByText("interactions", { exact: true }).waitFor();
  await page.getByLabel("User id").fill("nobody");
  await page.getByRole("button", { name: "Look up" }).click();
  await page.getByText("This id is not known here").waitFor();
  await expectAccessible(page);
  await picture(page, "governance-key");
  expect(complaints).toEqual([]);
  await context.close();
});

it("signs out at 400 px", async () => {
  const { context, page } = await open({ viewport: { width: 400, height: 800 } });
  await page.goto(`${server.url}/sessions`);
  await page.getByLabel("Token").fill(server.key("dashboard"));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
  await settled(page);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(overflow).toBeLessThanOrEqual(0);
  await expectAccessible(page);
  await picture(page, "sign-out-narrow");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  expect(new URL(page.url()).pathname).toBe("/sessions");
  await context.close();
});
