/** What people do in the dashboard, done by clicks. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  BINARY,
  expectAccessible,
  expectGoodLooks,
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
  expect(complaints).toEqual([]);
});

async function tell(path: string, body: unknown): Promise<void> {
  const answer = await fetch(demo.url + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
}

const said = (text: string | RegExp) => page.getByRole("status").getByText(text).first().waitFor();

describe("the overview", () => {
  it("is narrowed to a version of the agent, and the address keeps it", async () => {
    await visit(page, `${demo.url}/overview?range=90d`, "Overview");
    const judged = async () => Number((await page.getByTestId("judged-sessions").textContent())?.replace(/\D/g, ""));
    const all = await judged();
    const choice = page.getByRole("combobox", { name: "Agent version" });
    const version = (await choice.getByRole("option").allTextContents()).at(-1) ?? "";
    await choice.selectOption(version);
    await page.getByRole("heading", { name: `Success rate, ${version}` }).waitFor();
    await expect.poll(judged, { timeout: 20_000 }).toBeLessThan(all);
    expect(new URL(page.url()).searchParams.get("version")).toBe(version);
    await page.reload();
    await page.getByRole("heading", { name: `Success rate, ${version}` }).waitFor();
    expect(await judged()).toBeLessThan(all);
    await expectAccessible(page);
    await picture(page, "overview-version-light");
    await page.getByTitle("Show the sessions that cited it").first().click();
    await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
    await settled(page);
    expect(await page.getByLabel("Agent version").inputValue()).toBe(version);
    await page.getByText("Sessions that cited").waitFor();
    expect(await page.getByText("No session matches").count()).toBe(0);
  });
});

describe("sessions", () => {
  it("are walked with the keyboard, and the address keeps what is open", async () => {
    await visit(page, `${demo.url}/sessions`, "Sessions");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.getByTestId("panel").waitFor();
    await settled(page);
    const open = new URL(page.url()).searchParams.get("open");
    await page.reload();
    await page.getByTestId("panel").waitFor();
    expect(new URL(page.url()).searchParams.get("open")).toBe(open);
    await settled(page);
    await expectAccessible(page);
    await picture(page, "session-open-light");
    await page.keyboard.press("Escape");
    await page.getByTestId("panel").waitFor({ state: "detached" });
  });

  it("are taken along as a file, and kept as a view by name", async () => {
    await visit(page, `${demo.url}/sessions?range=7d&verdict=failure`, "Sessions");
    const [exported] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export", exact: true }).click(),
    ]);
    const [first] = readFileSync(await exported.path(), "utf8").split("\n");
    expect(JSON.parse(first ?? "")).toHaveProperty("session.session_id");
    await page.getByRole("button", { name: "Save this view" }).click();
    await page.getByLabel("Name").fill("Failures of the week");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await visit(page, `${demo.url}/sessions`, "Sessions");
    await page.getByLabel("Saved views").selectOption("Failures of the week");
    await page.getByRole("button", { name: "Failed", pressed: true }).waitFor();
    expect(new URL(page.url()).search).toBe("?range=7d&verdict=failure");
  });

  it("of a bucket are a click on the trend away", async () => {
    await visit(page, `${demo.url}/overview?range=30d`, "Overview");
    const chart = await page
      .getByRole("img", { name: /^Success rate: / })
      .first()
      .boundingBox();
    if (!chart) throw new Error("there is no trend");
    await page.mouse.click(chart.x + chart.width / 2, chart.y + chart.height / 2);
    await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
    const { searchParams } = new URL(page.url());
    expect(searchParams.get("from")).toBe(searchParams.get("to"));
    await settled(page);
    expect(await page.getByText("No session matches").count()).toBe(0);
  });

  it("with so many corrections are a click on their bar away", async () => {
    await visit(page, `${demo.url}/overview?range=30d`, "Overview");
    const bars = page.getByRole("img", { name: "Share of sessions by number of corrections" });
    const { width = 0, height = 0 } = (await bars.boundingBox()) ?? {};
    await bars.click({ position: { x: width / 6, y: height / 2 } });
    await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
    expect(new URL(page.url()).searchParams.get("corrections")).toBe("0");
    await settled(page);
    const shown = await page
      .getByRole("region", { name: "Sessions" })
      .locator("tbody td:nth-child(4)")
      .allTextContents();
    expect(new Set(shown.filter(Boolean))).toEqual(new Set(["0"]));
  });

  it("are graded again, and people can disagree", async () => {
    await visit(page, `${demo.url}/sessions?verdict=failure`, "Sessions");
    await page.keyboard.press("j");
    await page.getByRole("button", { name: "Grade again" }).click();
    await said("Graded");
    await page.getByRole("button", { name: "Disagree" }).click();
    await page.getByLabel("Why (optional)").fill("The customer got what they asked for.");
    await page.getByRole("button", { name: "Record my verdict" }).click();
    await said(/Noted/);
    await page.getByText("The customer got what they asked for.").waitFor();
  });

  it("say why they were not judged, and are judged now", async () => {
    await visit(page, `${demo.url}/sessions?verdict=none`, "Sessions");
    // The newest sessions may still be going on: down the list to one that sampling left out.
    let decision = "";
    for (let row = 0; row < 30 && decision !== "sampled_out"; row += 1) {
      const answered = page.waitForResponse((response) => response.url().includes("/api/evaluations/decisions"));
      await page.keyboard.press("j");
      decision = (await (await answered).json()).decisions[0].decision;
    }
    await page
      .getByTestId("why-not")
      .getByText(/It was not drawn/)
      .waitFor();
    await page.getByRole("button", { name: "Grade now" }).click();
    await said("Graded");
    await page.getByRole("button", { name: "Disagree" }).waitFor();
  });
});

describe("learnings", () => {
  it("are approved", async () => {
    await visit(page, `${demo.url}/learnings?status=pending`, "Learnings");
    await page.getByRole("button", { name: /Greet by first name/ }).click();
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await said("Playbook approved");
    await page.getByRole("button", { name: /Greet by first name/ }).waitFor({ state: "detached" });
  });

  it("show their effects, and how each became known", async () => {
    await visit(page, `${demo.url}/learnings`, "Learnings");
    await page.getByRole("button", { name: "Effects" }).click();
    await page.getByRole("button", { name: /Ask for the password/ }).click();
    await page.getByText("Success without it", { exact: true }).waitFor();
    await page.getByRole("region", { name: "Texts and epochs of the trial" }).getByText("fair").waitFor();
  });
});

describe("regenerations", () => {
  it("show what they take, run, and are cancelled", async () => {
    // One session at a time, so that there is something left to cancel.
    await tell("/api/update_config", { eval_concurrency_limit: 1 });
    await visit(page, `${demo.url}/jobs`, "Jobs and judge health");
    await page.getByRole("button", { name: "Judge a window again" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("From (UTC)").fill(new Date(Date.now() - 89 * 86_400_000).toISOString().slice(0, 10));
    await dialog.getByText(/sessions? will be judged by rules/).waitFor();
    await dialog.getByRole("button", { name: "Start" }).click();
    await said(/Judging .* again/);
    await page.getByTestId("running-regeneration").getByRole("button", { name: "Cancel" }).click();
    await said(/Cancelled/);
    const ended = page.getByRole("listitem").filter({ hasText: "sessions judged" });
    expect(await ended.textContent()).toContain("cancelled");
    const [judged, total] = ((await ended.textContent())?.match(/([\d,]+) of ([\d,]+) sessions judged/) ?? [])
      .slice(1)
      .map((n) => Number(n.replace(",", "")));
    expect(judged).toBeLessThan(total ?? 0);
  });
});

describe("experiments", () => {
  it("are started with a plan and stopped with a question", async () => {
    await visit(page, `${demo.url}/experiments`, "Experiments");
    const stopActive = page.getByRole("button", { name: "Stop", exact: true });
    if (await stopActive.isVisible()) {
      await stopActive.click();
      await page.getByRole("button", { name: "Stop the experiment" }).click();
      await said(/Stopped/);
    }
    await page.getByRole("button", { name: "Start an experiment" }).click();
    await page.getByLabel("Name").fill("by-clicks");
    await page.getByLabel("Held out (%)").fill("20");
    await page.getByLabel("Hypothesis (optional)").fill("Clicks are enough.");
    await picture(page, "experiment-start-light");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await said(/Started/);
    await page.getByRole("link", { name: /by-clicks/ }).click();
    await page.getByTestId("decision").waitFor();
    await page.getByRole("heading", { name: "Clicks are enough." }).waitFor();
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await page.getByLabel("Owner (optional)").fill("Somebody");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Owner: Somebody").waitFor();
    await page.goBack();
    await stopActive.click();
    await page.getByRole("button", { name: "Stop the experiment" }).click();
    await said(/Stopped/);
  });
});

describe("settings", () => {
  it("are saved", async () => {
    await visit(page, `${demo.url}/settings`, "Settings");
    await page.getByLabel("Sessions judged (%)").fill("65");
    await page.getByRole("button", { name: "Save" }).click();
    await said(/Saved/);
    await page.reload();
    expect(await page.getByLabel("Sessions judged (%)").inputValue()).toBe("65");
  });
});

describe("governance", () => {
  it("takes a key, exports, erases, and hands out the proof", async () => {
    await visit(page, `${demo.url}/governance`, "Governance");
    await signInWithGovernance(page, demo);
    await page.getByLabel("User id").fill("customer-0002");
    await page.getByRole("button", { name: "Look up" }).click();
    await page.getByText("interactions", { exact: true }).waitFor();
    await expectGoodLooks(page, "governance-person");
    const [exported] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export as JSON" }).click(),
    ]);
    const bundle = JSON.parse(readFileSync(await exported.path(), "utf8"));
    expect(bundle.subject_ref).toMatch(/^subref_v1_/);
    expect(bundle.bundle.sessions.length).toBeGreaterThan(0);
    await page.getByRole("button", { name: "Erase this person" }).click();
    await page.getByLabel("Type customer-0002 to confirm").fill("customer-0002");
    await page.getByRole("button", { name: "Erase for good" }).click();
    await page.locator('[data-testid="purge"][data-status="complete"]').waitFor({ timeout: 60_000 });
    await expectGoodLooks(page, "governance-erased");
    const [proof] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download the proof" }).click(),
    ]);
    expect(await page.getByLabel("User id").inputValue()).toBe("");
    const certificate = await proof.path();
    expect(readFileSync(certificate, "utf8")).not.toContain("customer-0002");
    const run = (...args: string[]) => execFileSync(BINARY, ["governance", ...args], { encoding: "utf8" });
    const publicKey = run("public-key", "--data-dir", demo.folder).trim();
    expect(run("verify-certificate", certificate, "--public-key", publicKey)).toMatch(/^valid/);
    await page.getByText("2 erasures", { exact: false }).waitFor();
    await page.getByLabel("User id").fill("customer-0002");
    await page.getByRole("button", { name: "Look up" }).click();
    await page.getByText("Nothing is stored about this person").waitFor();
    await page.getByText(/^Erased on /).waitFor();
    await page.getByRole("button", { name: "Let them come back" }).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Let them come back" }).click();
    await said(/They may come back/);
  });

  it("answers a request under the officer's own number, in the name of the file too", async () => {
    await visit(page, `${demo.url}/governance?user=customer-0003`, "Governance");
    await page.getByLabel("Your request number (optional)").fill("DSR 2026/14");
    const [exported] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export for people (ZIP)" }).click(),
    ]);
    expect(exported.suggestedFilename()).toMatch(/^export-DSR-2026-14-\d{4}-\d{2}-\d{2}\.zip$/);
  });

  it("ends with signing out, and the token signs in again", async () => {
    await page.goto(`${demo.url}/settings?view=keys`);
    await page.getByRole("button", { name: "Make a key" }).click();
    await page.getByLabel("Role").selectOption("dashboard");
    await page.getByRole("button", { name: "Make it" }).click();
    const token = (await page.getByTestId("token").textContent()) ?? "";
    // Closing the dialog asks for the list again; signed out meanwhile, that would be refused.
    const listed = page.waitForResponse((response) => response.url().endsWith("/api/keys"));
    await page.getByRole("button", { name: "Done" }).click();
    await listed;
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    await expectAccessible(page);
    await picture(page, "sign-in-light");
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    await page.goto(`${demo.url}/governance`);
    await page.getByText("Your credential has no governance grant").waitFor();
  });
});
