/** People sign in with a provider: by name, with their role, in their organizations, and only while it knows them. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { expectAccessible, launch, picture, settled } from "./support.ts";
import { Provider } from "./support-provider.ts";
import { OwnServer } from "./support-server.ts";

const provider = new Provider();
const server = new OwnServer();
let browser: Browser;

beforeAll(async () => {
  browser = await launch();
  await provider.start();
  // Once without, to learn the address that the provider sends browsers back to.
  await server.start();
  await server.end("SIGTERM");
  server.environment = {
    EVENHAND_OIDC__ISSUER: provider.issuer,
    EVENHAND_OIDC__NAME: "Example ID",
    EVENHAND_OIDC__CLIENT_ID: "evenhand",
    EVENHAND_OIDC__CLIENT_SECRET: "a-secret-of-the-tests",
    EVENHAND_OIDC__REDIRECT_URL: `${server.url}/auth/oidc/callback`,
    EVENHAND_OIDC__VIEWERS: '["look"]',
    EVENHAND_OIDC__EDITORS: '["run"]',
    EVENHAND_OIDC__GOVERNANCE: '["forget"]',
    EVENHAND_OIDC__ADMINS: '["all"]',
    EVENHAND_OIDC__ORGANIZATION_CLAIM: "orgs",
    EVENHAND_OIDC__RECHECK_SECONDS: "10",
  };
  await server.start();
  provider.people.push(
    { sub: "kim", name: "Kim Example", email: "kim@example.org", roles: ["run"], orgs: ["first", "second"] },
    { sub: "lee", name: "Lee Example", roles: ["forget"], orgs: ["first"] },
    { sub: "sam", name: "Sam Example", roles: ["nothing"], orgs: ["first"] },
  );
  for (const org of ["first", "second"]) {
    const published = await fetch(`${server.url}/api/publish_interaction`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${server.key("agent", org)}` },
      body: JSON.stringify({
        user_id: `user-of-${org}`,
        session_id: "s",
        interaction_data_list: [{ role: "User", content: `Hello from ${org}` }],
      }),
    });
    expect(published.status).toBe(200);
  }
});
afterAll(async () => {
  await browser?.close();
  await server.remove();
  await provider.stop();
});

async function open(): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  return context.newPage();
}

async function signInAs(page: Page, sub: string): Promise<void> {
  await page.getByRole("link", { name: "Sign in with Example ID" }).click();
  await page.getByRole("link", { name: `I am ${sub}` }).click();
}

it("signs a person in at the page they asked for, by name, and out again", async () => {
  const page = await open();
  await page.goto(`${server.url}/sessions`);
  await page.getByRole("link", { name: "Sign in with Example ID" }).waitFor();
  await expectAccessible(page);
  await picture(page, "sign-in-with-provider");
  await signInAs(page, "kim");
  await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/sessions");
  await page.getByText("Kim Example").filter({ visible: true }).waitFor();
  await page.getByText("Hello from first").first().waitFor();
  await settled(page);
  await expectAccessible(page);
  await picture(page, "signed-in-person");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in with Example ID" }).waitFor();
  await page.context().close();
});

it("switches between a person's organizations", async () => {
  const page = await open();
  await page.goto(`${server.url}/sessions`);
  await signInAs(page, "kim");
  await page.getByText("Hello from first").first().waitFor();
  await page.getByLabel("Organization").filter({ visible: true }).selectOption("second");
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Sessions" }).click();
  await page.getByText("Hello from second").first().waitFor();
  expect(await page.getByText("Hello from first").count()).toBe(0);
  await page.context().close();
});

it("shows somebody for governance the Governance page only", async () => {
  const page = await open();
  await page.goto(`${server.url}/overview`);
  await signInAs(page, "lee");
  await page.getByRole("heading", { level: 1, name: "Governance" }).waitFor();
  const pages = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
  expect(await pages.allTextContents()).toEqual(["Governance"]);
  await page.context().close();
});

it("says that somebody has no role here", async () => {
  const page = await open();
  await page.goto(`${server.url}/overview`);
  await signInAs(page, "sam");
  await page.getByText("You have no role here.").waitFor();
  expect(new URL(page.url()).pathname).toBe("/sign-in");
  await page.context().close();
});

it("lets nobody stay whom the provider removed", async () => {
  const page = await open();
  await page.goto(`${server.url}/jobs`);
  await signInAs(page, "kim");
  await page.getByRole("heading", { level: 1, name: "Jobs and judge health" }).waitFor();
  provider.people.splice(0, 1);
  // The page asks the server every few seconds, and the server the provider every ten.
  await page.getByRole("link", { name: "Sign in with Example ID" }).waitFor({ timeout: 60_000 });
  await page.context().close();
});
