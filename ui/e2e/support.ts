/** The real binary on demo data of its own, and Debian's Chromium looking at it. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { expect } from "vitest";

export const BINARY = process.env.BINARY ?? `${process.env.CARGO_TARGET_DIR ?? "../target"}/debug/evenhand`;
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const SCREENSHOTS = "../target/ui-screenshots";

export type Installation = { url: string; folder: string; stop: () => Promise<void> };

/** Makes a small demo and serves it, without customers who come meanwhile. */
export async function startDemo(sessions: number): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), "evenhand-ui-"));
  const data = join(folder, "demo");
  const args = ["demo", "--data-dir", data, "--listen", "127.0.0.1:0", "--sessions", String(sessions), "--still"];
  const server = spawn(BINARY, args, { stdio: ["ignore", "pipe", "inherit"] });
  const url = await address(server);
  const stop = () =>
    new Promise<void>((done) => {
      server.once("exit", () => {
        rmSync(folder, { recursive: true, force: true });
        done();
      });
      server.kill("SIGTERM");
    });
  return { url, folder: data, stop };
}

/** On the governance page in local mode: makes the first key on the command line, and signs in with it. */
export async function signInWithGovernance(page: Page, demo: Installation): Promise<void> {
  const args = ["keys", "create", "--role", "dashboard", "--grant", "governance", "--data-dir", demo.folder];
  const token = execFileSync(BINARY, args, { encoding: "utf8" }).trim();
  await page.getByLabel("Token").fill(token);
  // Whoever leaves the page before the answer is not signed in.
  const answered = page.waitForResponse((response) => response.request().method() === "POST");
  await page.getByRole("button", { name: "Sign in" }).click();
  await answered;
}

/** Where a server that was just started says it listens. */
export function address(server: ChildProcess): Promise<string> {
  return new Promise((found, failed) => {
    let said = "";
    server.stdout?.on("data", (part: Buffer) => {
      said += part.toString();
      const match = said.match(/listening on (http:\S+)/);
      if (match?.[1]) found(match[1]);
    });
    server.once("exit", (code) => failed(new Error(`the server ended with ${code}: ${said}`)));
  });
}

export function launch(): Promise<Browser> {
  const args = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-default-apps",
  ];
  return chromium.launch({ executablePath: CHROMIUM, args });
}

/** A page that remembers every complaint, and every request to another host. */
export async function openPage(context: BrowserContext, url: string): Promise<{ page: Page; complaints: string[] }> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on(
    "console",
    (message) =>
      ["error", "warning"].includes(message.type()) && complaints.push(`${message.text()} ${message.location().url}`),
  );
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    const to = request.url();
    if (!to.startsWith(url) && !to.startsWith("data:") && !to.startsWith("blob:")) complaints.push(`request to ${to}`);
  });
  return { page, complaints };
}

/** Opens a page of the dashboard and waits until nothing is loading any more. */
export async function visit(page: Page, url: string, heading: string | RegExp): Promise<void> {
  await page.goto(url);
  await page.getByRole("heading", { level: 1, name: heading }).waitFor();
  await settled(page);
}

export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(() => document.querySelectorAll('.skeleton, [aria-busy="true"]').length === 0);
  await page.waitForTimeout(150);
}

/** No serious or critical violation of WCAG 2 A and AA. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const { violations } = await (
      window as unknown as {
        axe: {
          run: (
            options: object,
          ) => Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
        };
      }
    ).axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21aa"] });
    return violations
      .filter((v) => v.impact === "serious" || v.impact === "critical")
      .map(
        (v) =>
          `${v.id}: ${v.nodes
            .slice(0, 3)
            .map((n) => n.html.slice(0, 160))
            .join(" | ")}`,
      );
  });
  expect(found).toEqual([]);
}

/** A page as people may see it: accessible in both themes, and nothing beyond the edge of a narrow screen. */
export async function expectGoodLooks(page: Page, name: string): Promise<void> {
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await settled(page);
    await expectAccessible(page);
    await picture(page, `${name}-${scheme}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  const wide = page.viewportSize();
  await page.setViewportSize({ width: 400, height: 800 });
  await settled(page);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  await picture(page, `${name}-narrow`);
  if (wide) await page.setViewportSize(wide);
  expect(overflow).toBeLessThanOrEqual(0);
}

export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: `${SCREENSHOTS}/${name}.png`, fullPage: true });
}
