/** The pictures in the README: `make screenshots`. */
import { statSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Browser, Page } from "playwright-core";
import { type Installation, launch, startDemo, visit } from "./support.ts";

let demo: Installation;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  [demo, browser] = await Promise.all([startDemo(20_000), launch()]);
  page = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme: "light" });
});

afterAll(async () => {
  await browser?.close();
  await demo?.stop();
});

async function take(name: string): Promise<void> {
  const path = `../docs/images/${name}.png`;
  await page.screenshot({ path });
  expect(statSync(path).size).toBeLessThan(200_000);
}

it("takes the overview", async () => {
  await visit(page, `${demo.url}/overview?range=90d`, "Overview");
  // Versions are asked for after the rest.
  await page
    .getByTestId("sentence")
    .getByText(/version support-2\.0 came/)
    .waitFor();
  await take("overview");
});

it("takes a finished experiment", async () => {
  await visit(page, `${demo.url}/experiments`, "Experiments");
  await page.getByRole("link", { name: /retrieval-rollout/ }).click();
  await page.getByTestId("lift").waitFor();
  await take("experiment");
});
