/** The dashboard as people use it: every page, every button that changes something, both themes, narrow and wide. */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectGoodLooks, type Installation, launch, openPage, startDemo, visit } from "./support.ts";

let demo: Installation;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  [demo, browser] = await Promise.all([startDemo(600), launch()]);
  context = await browser.newContext({ viewport: { width: 1440, height: 900 }, acceptDownloads: true });
  ({ page, complaints } = await openPage(context, demo.url));
});

afterAll(async () => {
  await browser?.close();
  await demo?.stop();
});

const PAGES: [path: string, heading: string][] = [
  ["/overview", "Overview"],
  ["/overview?range=90d", "Overview"],
  ["/sessions", "Sessions"],
  ["/shadow", "Shadow"],
  ["/sessions?experiment=retrieval-rollout&arm=holdout&sort=last_request_at", "Sessions"],
  ["/experiments", "Experiments"],
  ["/experiments/retrieval-rollout", "retrieval-rollout"],
  ["/learnings", "Learnings"],
  ["/learnings?view=effects", "Learnings"],
  ["/learnings?view=scorecard", "Learnings"],
  ["/learnings?view=people&user=customer-0001", "Learnings"],
  ["/learnings?view=search&q=refund", "Learnings"],
  ["/review", "Review"],
  ["/jobs", "Jobs and judge health"],
  ["/governance", "Governance"],
  ["/settings", "Settings"],
  ["/settings?view=keys", "Settings"],
  ["/settings?view=webhooks", "Settings"],
  ["/settings?view=alerts", "Settings"],
  ["/connect", "Connect your agent"],
];

describe("every page", () => {
  for (const [path, heading] of PAGES) {
    it(`${path} opens without complaint, in both themes, narrow too, and is accessible`, async () => {
      complaints.length = 0;
      const name = path.replace(/\W+/g, "-").replace(/^-/, "");
      await visit(page, demo.url + path, heading);
      await expectGoodLooks(page, name);
      expect(complaints).toEqual([]);
    });
  }
});
