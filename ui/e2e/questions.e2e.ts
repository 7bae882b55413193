/** What somebody who never saw the dashboard wants to know, found without reading anything else. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { expectAccessible, type Installation, launch, openPage, picture, settled, startDemo } from "./support.ts";

let demo: Installation;
let browser: Browser;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  [demo, browser] = await Promise.all([startDemo(4000), launch()]);
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  ({ page, complaints } = await openPage(context, demo.url));
  await page.goto(demo.url);
});

afterAll(async () => {
  await browser?.close();
  await demo?.stop();
  expect(complaints).toEqual([]);
});

const goTo = async (name: string) => {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name }).click();
  await settled(page);
};

it("is the agent getting better?", async () => {
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await page.getByRole("button", { name: "90 d", exact: true }).click();
  await settled(page);
  const rate = Number((await page.getByTestId("success-rate").textContent())?.replace(/[^\d.]/g, ""));
  expect(rate).toBeGreaterThan(70);
  await page
    .getByText(/95 % interval \d/)
    .first()
    .waitFor();
  const buckets = await weekly();
  expect(buckets.at(-2)).toBeGreaterThan(buckets[1] ?? 1);
});

/** The rates by week, as the page's own table has them. */
async function weekly(): Promise<number[]> {
  await page.getByRole("button", { name: "Trend as a table" }).click();
  const cells = await page.getByRole("region", { name: "Trend" }).locator("tbody td:nth-child(2)").allTextContents();
  return cells.map(Number);
}

it("did the experiment work, and can it be trusted?", async () => {
  await goTo("Experiments");
  await page
    .getByRole("link", { name: /retrieval-rollout/ })
    .getByText("helps", { exact: true })
    .waitFor();
  await page
    .getByRole("link", { name: /retrieval-in-the-app/ })
    .getByText("unhealthy", { exact: true })
    .waitFor();
  await page
    .getByRole("link", { name: /new-playbooks/ })
    .getByText("collecting", { exact: true })
    .waitFor();
  await page.getByRole("link", { name: /retrieval-rollout/ }).click();
  await page.getByTestId("lift").waitFor();
  expect(await page.getByTestId("lift").textContent()).toMatch(/^\+\d/);
  await page.getByText("healthy", { exact: true }).waitFor();
  await expectAccessible(page);
  await picture(page, "experiment-finished-light");
  await page.goBack();
  await page.getByRole("link", { name: /retrieval-in-the-app/ }).click();
  await page.getByText("No decision until this is understood").waitFor();
  await picture(page, "experiment-unhealthy-light");
});

it("which playbook hurts?", async () => {
  await goTo("Learnings");
  const worst = page.getByRole("button", { expanded: false }).filter({ hasText: "harmed" }).first();
  expect(await worst.textContent()).toMatch(/Offer a refund without checking|Ask for the password/);
  await worst.click();
  await settled(page);
  await picture(page, "learning-open-light");
});

it("why was this session not judged?", async () => {
  await goTo("Sessions");
  await page.getByRole("button", { name: "Not judged" }).click();
  await settled(page);
  await page.keyboard.press("j");
  await page.getByTestId("why-not").waitFor();
  expect(await page.getByTestId("why-not").textContent()).toMatch(/not drawn/);
});

it("where would I erase somebody?", async () => {
  await goTo("Governance");
  await page.getByText("evenhand keys create --role dashboard --grant governance").waitFor();
});
