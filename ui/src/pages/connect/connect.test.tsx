import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Session } from "../../api/client.ts";
import { type Sent, serve, show, viewer } from "../../test-server.tsx";
import OverviewPage from "../overview/page.tsx";
import SessionsPage from "../sessions/page.tsx";
import ConnectPage from "./page.tsx";
import { SNIPPETS, WAYS } from "./ways.tsx";

const TOKEN = "eh_agent_made-for-this-test";
const came = {
  user_id: "ada",
  session_id: "hello-curl",
  first_request_at: 1_768_000_000,
  last_request_at: 1_768_000_400,
  finished_at: 1_768_000_400,
  source: "",
  agent_version: "agent-v0",
  request_count: 1,
  interaction_count: 3,
  is_success: true,
  failure_type: "",
  failure_reason: "",
  number_of_correction_per_session: 0,
  is_escalated: false,
  first_words: "Where is it?",
  calls: { count: 0, input_tokens: null, output_tokens: null, cost_usd: null, latency_ms: null },
};
const toIt = "/sessions?open=ada%0Ahello-curl";

/** A server whose sessions can change between two calls. */
let stored: { sessions: (typeof came)[] };
let sent: Sent[];
beforeEach(() => {
  stored = { sessions: [] };
  sent = serve({
    "GET /api/sessions": () => ({ sessions: stored.sessions, next_cursor: null }),
    "GET /api/evaluations/judge_health": { decisions: [] },
    "POST /api/get_evaluation_overview": { hero: { state: "empty" }, judges: [], available_agent_versions: [] },
    "POST /api/keys": { token: TOKEN, key: { name: "first agent" } },
  });
});

const connect = (session: Session = viewer, address = "/connect") => show(<ConnectPage session={session} />, address);
const code = () => screen.getAllByRole("region").map((block) => block.textContent);
const tab = (name: string) => screen.getByRole("tab", { name });

describe("the ways to connect", () => {
  it("put the key that is made into every text that has a place for one, and nowhere else", async () => {
    connect();
    for (const [, name] of WAYS) {
      await userEvent.click(tab(name));
      expect(code().join("\n")).toContain(window.location.origin);
      expect(code().join("\n")).toContain("EVENHAND_TOKEN");
    }
    await userEvent.click(screen.getByRole("button", { name: "Create a key" }));
    expect(await screen.findByRole("button", { name: "Copy the key" })).toHaveFocus();
    expect(sent.find((one) => one.path === "/api/keys")?.body).toEqual({ role: "agent", name: "first agent" });
    for (const [, name] of WAYS) {
      await userEvent.click(tab(name));
      expect(code().join("\n")).toContain(TOKEN);
      expect(code().join("\n")).not.toContain("EVENHAND_TOKEN");
    }
    expect(JSON.stringify({ ...localStorage, ...sessionStorage })).not.toContain(TOKEN);
    expect(window.location.href).not.toContain(TOKEN);
  });
  it("need no key in local mode, and offer none that would end it", async () => {
    connect({ ...viewer, state: "local" });
    expect(screen.getByText(/No key is needed/)).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Create a key" })).toBeNull();
    for (const [, name] of WAYS) {
      await userEvent.click(tab(name));
      expect(code().join("\n")).not.toMatch(/EVENHAND_TOKEN|API_KEY|Bearer|--token|null/);
    }
  });
  it("tell those who only read who makes a key", () => {
    connect({ ...viewer, role: "auditor" });
    expect(screen.getByText(/somebody with a dashboard key makes one/)).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Create a key" })).toBeNull();
    expect(code()[0]).toContain("Bearer EVENHAND_TOKEN");
  });
  it("open at the one in the address, and are walked with arrows, Home and End", async () => {
    connect(viewer, "/connect?way=python");
    expect(tab("Python")).toHaveAttribute("aria-selected", "true");
    expect(screen.getAllByRole("tab").map((one) => one.tabIndex)).toEqual([-1, 0, -1, -1, -1, -1]);
    tab("Python").focus();
    for (const [key, name] of [
      ["ArrowRight", "TypeScript"],
      ["End", "Import"],
      ["ArrowRight", "curl"],
      ["ArrowLeft", "Import"],
      ["Home", "curl"],
    ]) {
      await userEvent.keyboard(`{${key}}`);
      expect(tab(name ?? "")).toHaveFocus();
      expect(tab(name ?? "")).toHaveAttribute("aria-selected", "true");
    }
    expect(screen.getByRole("tabpanel", { name: "curl" })).toBeInTheDocument();
  });
  it("are copied as they stand there", async () => {
    const user = userEvent.setup();
    connect();
    await user.click(screen.getByRole("button", { name: "Copy: Publish a session" }));
    expect(await screen.findByText("Copied")).toBeInTheDocument();
    expect(await navigator.clipboard.readText()).toBe(code()[0]);
  });
  it("are copied without the browser's clipboard where it is kept from pages, or it is said that they cannot be", async () => {
    const user = userEvent.setup();
    vi.spyOn(navigator.clipboard, "writeText").mockRejectedValue(new Error("not here"));
    const chosen: string[] = [];
    document.execCommand = () => {
      if (document.activeElement instanceof HTMLTextAreaElement) chosen.push(document.activeElement.value);
      return chosen.length === 1;
    };
    connect();
    const copy = screen.getByRole("button", { name: "Copy: Publish a session" });
    await user.click(copy);
    expect(await screen.findByText("Copied")).toBeInTheDocument();
    expect(chosen).toEqual([code()[0]]);
    expect(copy).toHaveFocus();
    await user.click(copy);
    expect(await screen.findByText(/select the text instead/)).toBeInTheDocument();
  });
  it("name the newest session when there are some", async () => {
    stored.sessions = [came];
    connect();
    expect(await screen.findByText(/hello-curl of ada/)).toHaveTextContent("Newest session:");
    expect(screen.getByRole("link", { name: "Open the session" })).toHaveAttribute("href", toIt);
  });
});

it("are valid where a client reads them as JSON", () => {
  for (const key of [TOKEN, null]) {
    const [started, remote] = SNIPPETS.mcp({ url: "http://here", key }).map(
      ({ text }) => JSON.parse(text).mcpServers.evenhand,
    );
    expect(started.args).toEqual(["mcp", "--url", "http://here", ...(key ? ["--token", key] : [])]);
    expect(remote.url).toBe("http://here/mcp");
    expect(remote.headers?.Authorization).toBe(key ? `Bearer ${key}` : undefined);
  }
});

describe("before the first session", () => {
  const pages = [
    ["Overview", <OverviewPage session={viewer} />, "Show the overview"],
    ["Sessions", <SessionsPage session={viewer} />, "Show the sessions"],
  ] as const;
  for (const [title, page, onward] of pages) {
    it(`${title} waits for it, keeps the key when it arrives, and goes on by a click`, async () => {
      show(page);
      expect(await screen.findByRole("heading", { level: 2, name: "Connect your agent" })).toBeInTheDocument();
      expect(screen.getByRole("heading", { level: 1, name: title })).toBeInTheDocument();
      const line = within(screen.getAllByRole("status")[0] as HTMLElement);
      expect(line.getByText("Waiting for the first session…")).toBeInTheDocument();
      await userEvent.click(screen.getByRole("button", { name: "Create a key" }));
      await screen.findByRole("button", { name: "Copy the key" });
      stored.sessions = [came];
      expect(await line.findByText("First session arrived:")).toBeInTheDocument();
      expect(screen.getByRole("link", { name: "Open the session" })).toHaveAttribute("href", toIt);
      expect(code()[0]).toContain(TOKEN);
      await userEvent.click(screen.getByRole("button", { name: onward }));
      await waitFor(() => expect(screen.queryByRole("tablist")).toBeNull());
    });
  }
  it("does not stand in the way of a list that is only narrowed to nothing", async () => {
    serve({
      "GET /api/sessions": ({ query }: Sent) => ({
        sessions: query.get("user_id") === "nobody" ? [] : [came],
        next_cursor: null,
      }),
    });
    show(<SessionsPage session={viewer} />, "/sessions?user=nobody");
    expect(await screen.findByText("No session matches")).toBeInTheDocument();
    expect(screen.queryByRole("tablist")).toBeNull();
  });
  it("says when the server cannot be reached", async () => {
    serve({
      "GET /api/sessions": () => {
        throw new TypeError("Failed to fetch");
      },
    });
    connect();
    expect(await screen.findByText("The server cannot be reached; asking again…")).toBeInTheDocument();
  });
});
