/** The learning loop in the browser: people correct, a model proposes, a person approves, a newcomer is served, verdicts score it. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { address, BINARY, expectAccessible, launch, openPage, picture, settled, visit } from "./support.ts";

let model: Server;
let server: ChildProcess;
let folder: string;
let url: string;
let browser: Browser;
let page: Page;
let complaints: string[];

/** What a model answers to each of the judge's questions, told apart by the schema it is given. */
function verdict(asked: string): unknown {
  if (asked.includes("evidence_turns")) {
    const ids = [...asked.matchAll(/\\"id\\":(\d+)/g)].map((found) => Number(found[1]));
    return {
      proposals: [
        {
          rationale: "corrected",
          evidence_turns: [ids[2]],
          kind: "user_playbook",
          trigger: "asked for a price",
          content: "Quote prices with tax included",
        },
      ],
    };
  }
  if (asked.includes("diagnosis_turns"))
    return {
      verdicts: [
        {
          candidate: 1,
          reason: "used",
          impact: "positive",
          diagnosis_reason: "",
          diagnosis_turns: [],
          diagnosis_category: "none",
        },
      ],
    };
  if (asked.includes("is_relevant")) return { verdicts: [{ candidate: 1, reason: "fits", is_relevant: true }] };
  return {
    reasoning: "r",
    number_of_corrections: 0,
    is_escalated: false,
    failure_reason: "",
    failure_type: "",
    is_success: true,
  };
}

beforeAll(async () => {
  model = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const content = JSON.stringify(verdict(Buffer.concat(parts).toString()));
      response.setHeader("Content-Type", "application/json");
      response.end(
        JSON.stringify({
          id: "c",
          object: "chat.completion",
          model: "scripted",
          usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
          choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content, refusal: null } }],
        }),
      );
    });
  });
  await new Promise<void>((listening) => model.listen(0, "127.0.0.1", listening));
  folder = mkdtempSync(join(tmpdir(), "evenhand-loop-"));
  const env = {
    ...process.env,
    OPENAI_API_KEY: "sk-test",
    EVENHAND_JUDGE__MODEL: "openai/scripted",
    OPENAI_BASE_URL: `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`,
  };
  server = spawn(BINARY, ["serve", "--data-dir", folder, "--listen", "127.0.0.1:0"], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  [url, browser] = await Promise.all([address(server), launch()]);
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  ({ page, complaints } = await openPage(context, url));
});

afterAll(async () => {
  await browser?.close();
  server?.kill("SIGTERM");
  model?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
  expect(complaints).toEqual([]);
});

async function tell(path: string, body: unknown): Promise<Record<string, unknown>> {
  const answer = await fetch(url + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Evenhand-Caller": "dashboard" },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
  return answer.json() as Promise<Record<string, unknown>>;
}

/** Asks again until there is something, for a minute. */
async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 120; tries += 1) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((later) => setTimeout(later, 500));
  }
  throw new Error("it did not come");
}

const turns = (...said: [role: string, content: string][]) => said.map(([role, content]) => ({ role, content }));
const said = (text: string | RegExp) => page.getByRole("status").getByText(text).first().waitFor();

it("goes round, from corrections to a scored playbook", async () => {
  for (const user_id of ["ada", "bob", "kim", "lea", "zoe"]) {
    await tell("/api/publish_interaction", {
      user_id,
      session_id: "s1",
      agent_version: "v1",
      session_finished: true,
      interaction_data_list: turns(
        ["User", "What does the kettle cost?"],
        ["Assistant", "30 euros."],
        ["User", "That is wrong, quote the price with tax."],
        ["Assistant", "35.70 euros with tax."],
        ["User", "Perfect, thank you!"],
      ),
    });
  }
  type Playbook = { agent_playbook_id: number; source_user_count: number };
  const { agent_playbook_id: id } = await until(async () => {
    const { agent_playbooks } = (await tell("/api/get_agent_playbooks", {})) as { agent_playbooks: Playbook[] };
    return agent_playbooks.find((p) => p.source_user_count === 5);
  });
  await visit(page, `${url}/learnings?status=pending`, "Learnings");
  await page.getByRole("button", { name: /Quote prices with tax included/ }).click();
  await page.getByTestId("provenance").getByText("5 people taught it independently").waitFor();
  await settled(page);
  await expectAccessible(page);
  await picture(page, "learning-pending");
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.getByLabel("What to do").fill("Always quote prices with tax included");
  await page.getByRole("button", { name: "Save" }).click();
  await said("Playbook changed");
  await page.getByRole("button", { name: "Approve", exact: true }).click();
  await said("Playbook approved");

  const served = (await tell("/api/search", {
    user_id: "newcomer",
    query: "price with tax",
    agent_playbook_status_filter: ["approved"],
  })) as { agent_playbooks: Playbook[] };
  expect(served.agent_playbooks.map((p) => p.agent_playbook_id)).toEqual([id]);
  for (let n = 0; n < 6; n += 1) {
    const list = turns(
      ["User", "What does the kettle cost?"],
      ["Assistant", "35.70 euros, tax included."],
      ["User", "Thanks!"],
    );
    Object.assign(list[1] as object, { retrieved_learnings: [{ kind: "agent_playbook", learning_id: String(id) }] });
    await tell("/api/publish_interaction", {
      user_id: `newcomer-${n}`,
      session_id: "s1",
      agent_version: "v1",
      session_finished: true,
      interaction_data_list: list,
    });
  }
  await until(async () => {
    const card = (await (await fetch(`${url}/api/learnings/scorecard`)).json()) as { scores: { sessions: number }[] };
    return card.scores.find((score) => score.sessions === 6);
  });
  await visit(page, `${url}/learnings?view=scorecard`, "Learnings");
  const row = page.getByRole("button", { name: /Always quote prices with tax included/ });
  await row.getByText("helps").waitFor();
  await row.click();
  await page
    .getByTestId("provenance")
    .getByText(/approved by dashboard/)
    .waitFor();
  await page.getByText("no experiment ran").waitFor();
  await settled(page);
  await expectAccessible(page);
  await picture(page, "scorecard");
});
