/** Webhooks and alerts as people set them up: a receiver is added, tested, and its log read; a rule is made. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { expectAccessible, launch, openPage, picture, visit } from "./support.ts";
import { OwnServer } from "./support-server.ts";

const SOON = { timeout: 20_000 };

let own: OwnServer;
let receiver: Server;
let arrived: { id: string; body: string }[];
let browser: Browser;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  arrived = [];
  receiver = createServer((request, answer) => {
    let body = "";
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      arrived.push({ id: String(request.headers["webhook-id"]), body });
      answer.writeHead(arrived.length === 1 ? 200 : 500).end("no room");
    });
  });
  await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
  const server = new OwnServer({ EVENHAND_WEBHOOKS__ALLOW_PRIVATE_ADDRESSES: "true" });
  [own, browser] = await Promise.all([server.start(), launch()]);
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  ({ page, complaints } = await openPage(context, own.url));
});

afterAll(async () => {
  await browser?.close();
  await own?.remove();
  receiver?.close();
});

const press = (name: string) => page.getByRole("button", { name, exact: true }).click();

it("a webhook is added, tested and read from its log", async () => {
  await visit(page, `${own.url}/settings?view=webhooks`, "Settings");
  await page.getByText("Nobody is told yet").waitFor();
  await press("Add a webhook");
  const { port } = receiver.address() as AddressInfo;
  await page.getByLabel("URL").fill(`http://127.0.0.1:${port}/`);
  await page.getByLabel("Description").fill("on-call channel");
  await page.getByLabel("A session was judged a failure").check();
  await expectAccessible(page);
  await press("Add it");
  const secret = page.getByTestId("secret");
  await secret.waitFor(SOON);
  expect(await secret.textContent()).toMatch(/^whsec_/);
  await press("Done");
  await press("Send a test");
  const log = page.getByRole("region", { name: "Log of on-call channel" });
  await log.getByText("delivered").waitFor(SOON);
  expect(arrived).toHaveLength(1);
  expect(JSON.parse(arrived[0]?.body ?? "").type).toBe("webhook.test");
  await press("Send a test");
  await log.getByText("500 no room").waitFor(SOON);
  await picture(page, "webhooks");
  await expectAccessible(page);
  expect(complaints).toEqual([]);
});

it("a rule is made and says that it is collecting", async () => {
  await visit(page, `${own.url}/settings?view=alerts`, "Settings");
  await press("Add a rule");
  await page.getByLabel("Name").fill("Success");
  await expectAccessible(page);
  await press("Add it");
  await page.getByText("collecting", { exact: true }).waitFor(SOON);
  await picture(page, "alerts");
  await expectAccessible(page);
  await press("Delete");
  await page.getByRole("dialog", { name: "Delete Success?" }).getByRole("button", { name: "Delete" }).click();
  await page.getByText("Nothing is watched yet").waitFor(SOON);
  expect(complaints).toEqual([]);
});
