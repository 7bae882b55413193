/** What somebody who never saw the dashboard wants to know, found by clicks alone: each question starts on the overview and
 *  says how many clicks the answer takes. Connecting an agent has its own file. */
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import {
  expectAccessible,
  type Installation,
  launch,
  openPage,
  picture,
  settled,
  signInWithGovernance,
  startDemo,
  visit,
} from "./support.ts";

let demo: Installation;
let browser: Browser;
let page: Page;
let complaints: string[];
let clicks: number;

beforeAll(async () => {
  [demo, browser] = await Promise.all([startDemo(4000), launch()]);
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  ({ page, complaints } = await openPage(context, demo.url));
});

afterAll(async () => {
  await browser?.close();
  await demo?.stop();
  expect(complaints).toEqual([]);
});

beforeEach(async () => {
  await visit(page, demo.url, "Overview");
  clicks = 0;
});

async function click(what: Locator): Promise<void> {
  clicks += 1;
  await what.click();
  await settled(page);
}

const goTo = (name: string) => click(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name }));
const press = (name: string) => click(page.getByRole("button", { name, exact: true }));

it("is the agent getting better? (1 click)", async () => {
  await press("90 d");
  await expect
    .poll(() => page.getByTestId("sentence").textContent(), { timeout: 20_000 })
    .toMatch(/^\d\d\.\d % of judged sessions succeed \(.* %\), up .* points since .*; version support-2\.0 came/);
  expect(clicks).toBe(1);
  await press("Trend as a table");
  const cells = await page.getByRole("region", { name: "Trend" }).locator("tbody td:nth-child(2)").allTextContents();
  const rates = cells.map(Number.parseFloat);
  expect(rates.at(-2)).toBeGreaterThan(rates[1] ?? 100);
});

it("did the experiment work, and can it be trusted? (2 clicks)", async () => {
  await goTo("Experiments");
  const line = (name: RegExp) => page.getByRole("link", { name });
  await line(/retrieval-rollout/)
    .getByText("helps", { exact: true })
    .waitFor();
  await line(/retrieval-in-the-app/)
    .getByText("unhealthy", { exact: true })
    .waitFor();
  await line(/new-playbooks/)
    .getByText(/\d+ of 30 holdout users/)
    .waitFor();
  await click(line(/retrieval-rollout/));
  expect(await page.getByTestId("lift").textContent()).toMatch(/^\+\d/);
  await page.getByText("healthy", { exact: true }).waitFor();
  expect(clicks).toBe(2);
  await expectAccessible(page);
  await picture(page, "experiment-finished-light");
  await page.goBack();
  await click(line(/retrieval-in-the-app/));
  await page.getByText("No decision until this is understood").waitFor();
  await picture(page, "experiment-unhealthy-light");
});

it("which sessions were held out? (3 clicks)", async () => {
  await goTo("Experiments");
  await click(page.getByRole("link", { name: /retrieval-rollout/ }));
  await page.getByRole("img", { name: /^Lift over time: / }).waitFor();
  await click(page.getByTitle("Sessions of the holdout"));
  expect(clicks).toBe(3);
  expect(await page.getByLabel("Arm", { exact: true }).inputValue()).toBe("holdout");
  await click(page.getByRole("button", { name: /^Open session/ }).first());
  await page.getByTestId("panel").getByText("holdout", { exact: true }).waitFor();
});

it("which playbook hurts? (1 click, and the same on every page)", async () => {
  await press("90 d");
  // Until then the rules of the range before are shown.
  await page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
  const cited = await page.getByTitle("Show the sessions that cited it").allTextContents();
  const titles = cited.map((text) => text.split("agent playbook")[0] ?? text);
  expect(titles[0]).toMatch(/Offer a refund without checking|Ask for the password/);
  expect(clicks).toBe(1);
  await goTo("Learnings");
  const rows = page.getByRole("button", { expanded: false });
  expect(
    await rows
      .filter({ hasText: / pp \(|too few users/ })
      .first()
      .textContent(),
  ).toContain(titles[0]);
  await picture(page, "learnings-worst-light");
  await visit(page, `${demo.url}/learnings?view=scorecard&kind=agent_playbook&range=90d`, "Learnings");
  const scored = await rows.allTextContents();
  // The scorecard has those with verdicts on their present text.
  const worst = titles.find((title) => scored.some((text) => text.includes(title)));
  expect(scored[0]).toContain(worst);
});

it("why was this session not judged? (3 clicks)", async () => {
  await goTo("Sessions");
  await press("Not judged");
  await click(page.getByRole("button", { name: /^Open session/ }).first());
  expect(await page.getByTestId("why-not").textContent()).toMatch(/not drawn/);
  expect(clicks).toBe(3);
});

it("where would I erase somebody? (1 click)", async () => {
  await goTo("Governance");
  await page.getByText("evenhand keys create --role dashboard --grant governance").waitFor();
  expect(clicks).toBe(1);
});

it("which version is better, and is it sure? (1 click)", async () => {
  await press("90 d");
  await page.getByText(/support-2\.0 succeeds more often than support-1\.1: by \d.* points/).waitFor();
  await page.getByTitle("Show its sessions").first().getByText("better", { exact: true }).waitFor();
  expect(clicks).toBe(1);
  await press("By version");
  expect(new URL(page.url()).searchParams.get("lines")).toBe("versions");
  await expectAccessible(page);
  await picture(page, "overview-by-version-light");
});

it("label 20 sessions (21 clicks)", async () => {
  await goTo("Review");
  const labelled = async () =>
    Number((await page.getByTestId("ground-truth").textContent())?.split(" ")[0]?.replace(/\D/g, ""));
  const before = await labelled();
  for (let n = 1; n <= 20; n += 1) {
    const card = page.getByRole("button", { name: /^(Agree|It succeeded)$/ });
    const session = await page.getByRole("heading", { level: 2, name: /^chat-/ }).textContent();
    await click(card);
    await page.getByRole("heading", { level: 2, name: session ?? "", exact: true }).waitFor({ state: "detached" });
  }
  expect(clicks).toBe(21);
  await page.reload();
  await settled(page);
  await expect.poll(labelled, { timeout: 20_000 }).toBeGreaterThan(before);
});

it("see a harmful playbook found, and retired after it was served (2 clicks)", async () => {
  await goTo("Learnings");
  await click(page.getByRole("button", { name: /Offer a refund without checking.*(rejected|retired)/ }));
  const way = (await page.getByTestId("provenance").textContent()) ?? "";
  expect(way).toMatch(/approved by .*(rejected|archived) by /);
  expect(clicks).toBe(2);
  await picture(page, "learnings-retired-light");
});

it("what remains of an erased person, and until when? (2 clicks)", async () => {
  await visit(page, `${demo.url}/governance`, "Governance");
  await signInWithGovernance(page, demo);
  await visit(page, demo.url, "Overview");
  clicks = 0;
  await goTo("Governance");
  await click(page.getByRole("button", { name: /subref_v1_/ }).first());
  const remains = page.getByRole("region", { name: "What remains" });
  expect(await remains.textContent()).toMatch(/may hold this person until [A-Z][a-z]{2} \d+, \d{4}/);
  expect(clicks).toBe(2);
  await expectAccessible(page);
  await picture(page, "governance-remains-light");
});
