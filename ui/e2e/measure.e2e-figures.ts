/** How fast the overview is on a full demo: `make measure-ui`. Prints figures and asserts nothing. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, it } from "vitest";
import { type Installation, launch, settled, startDemo, visit } from "./support.ts";

const TIMES = 7;
let demo: Installation;
let browser: Browser;

beforeAll(async () => {
  [demo, browser] = await Promise.all([startDemo(20_000), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await demo?.stop();
});

const middle = (numbers: number[]) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
const shown = (numbers: number[]) => `median ${middle(numbers).toFixed(0)}, worst ${Math.max(...numbers).toFixed(0)}`;

/** First contentful paint and the scripts' size, of a browser that was never here. */
async function open(): Promise<{ page: Page; paint: number; script: number }> {
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  await visit(page, `${demo.url}/overview`, "Overview");
  const [paint, script] = await page.evaluate(() => {
    const scripts = (performance.getEntriesByType("resource") as PerformanceResourceTiming[]).filter((r) =>
      r.name.endsWith(".js"),
    );
    const first = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN;
    return [first, scripts.reduce((sum, r) => sum + r.encodedBodySize, 0)] as const;
  });
  return { page, paint, script };
}

/** From the click on another range, on a page that is complete, to the frame that shows its numbers. */
async function change(page: Page, range: string): Promise<number> {
  return page.evaluate(async (name) => {
    const number = () => document.querySelector('[data-testid="success-rate"]')?.textContent;
    const before = number();
    const button = [...document.querySelectorAll("button")].find((b) => b.textContent === name);
    const began = performance.now();
    button?.click();
    while (number() === before && performance.now() - began < 5000) await new Promise(requestAnimationFrame);
    return performance.now() - began;
  }, range);
}

it("the overview on 20,000 sessions", async () => {
  const [paints, changes]: [number[], number[]] = [[], []];
  let size = 0;
  for (let i = 0; i < TIMES; i++) {
    const { page, paint, script } = await open();
    paints.push(paint);
    size = script;
    for (const range of ["90 d", "7 d"]) {
      changes.push(await change(page, range));
      await settled(page);
    }
    await page.context().close();
  }
  console.log(`first contentful paint, ms: ${shown(paints)}`);
  console.log(`another range, click to numbers, ms: ${shown(changes)}`);
  console.log(`scripts of the first page, compressed: ${(size / 1000).toFixed(0)} KB`);
});
