import { act, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { api } from "./api/client.ts";
import { App } from "./app.tsx";
import { serve, show } from "./test-server.tsx";

const session = (state: string, role = "dashboard") => ({
  state,
  org_id: state === "signed_out" ? null : "acme",
  csrf: "proof",
  role: state === "signed_out" ? null : role,
  governance: role === "governance",
  person: null,
  organizations: state === "signed_out" ? [] : ["acme"],
  provider: null,
});
const refusal = () =>
  Response.json({ status: 401, code: "unauthenticated", detail: "Sign in.", errors: [] }, { status: 401 });

/** A server whose session can end between two calls. */
function open(state: string) {
  const server = { state };
  serve({
    "GET /auth/session": () => session(server.state),
    "POST /auth/session": () => {
      server.state = "signed_in";
      return session(server.state);
    },
    "GET /api/evaluations/judge_health": {
      judge: "rules",
      offline: true,
      state: "running",
      paused_reason: null,
      decisions: [],
    },
    "GET /api/keys": { keys: [] },
    "GET /api/whoami": refusal,
  });
  show(<App />, "/settings?view=keys");
  return server;
}

const heading = () => screen.findByRole("heading", { level: 1, name: "Settings" });

it("leads to the sign-in page when a call says that the session has ended, and back afterwards", async () => {
  const server = open("signed_in");
  await heading();
  server.state = "signed_out";
  await act(() => api.GET("/api/whoami"));
  await userEvent.type(await screen.findByLabelText("Token"), "eh_dashboard_new");
  await userEvent.click(screen.getByRole("button", { name: "Sign in" }));
  await heading();
  expect(screen.getByRole("button", { name: "Keys" })).toHaveAttribute("aria-pressed", "true");
});

it("stays where it is when a call is refused but the session stands", async () => {
  open("local");
  await heading();
  await act(() => api.GET("/api/whoami"));
  await vi.waitFor(() => expect(screen.queryByLabelText("Token")).toBeNull());
  await heading();
});

it("shows a governance key its one page, whatever the address", async () => {
  const sent = serve({
    "GET /auth/session": session("signed_in", "governance"),
    "GET /api/governance/purge-operations": { purge_operations: [] },
    "GET /api/governance/audit-events": { events: [] },
  });
  show(<App />, "/sessions");
  await screen.findByRole("heading", { level: 1, name: "Governance" });
  const pages = within(screen.getByRole("navigation", { name: "Pages" })).getAllByRole("link");
  expect(pages.map((link) => link.textContent)).toEqual(["Governance"]);
  expect(sent.map(({ path }) => path)).not.toContain("/api/evaluations/judge_health");
});

it("leads to the provider and says why nobody was signed in", async () => {
  serve({ "GET /auth/session": { ...session("signed_out"), provider: "Example ID" } });
  show(<App />, "/sign-in?problem=no_role");
  const link = await screen.findByRole("link", { name: "Sign in with Example ID" });
  expect(link).toHaveAttribute("href", "/auth/oidc/start?return_to=%2F");
  expect(screen.getByRole("alert")).toHaveTextContent("You have no role here.");
  expect(screen.getByLabelText("Token")).toBeInTheDocument();
});

it("comes back from the provider to the page that was asked for", async () => {
  serve({ "GET /auth/session": { ...session("signed_out"), provider: "Example ID" } });
  show(<App />, "/sessions?range=7d");
  const link = await screen.findByRole("link", { name: "Sign in with Example ID" });
  expect(link).toHaveAttribute("href", "/auth/oidc/start?return_to=%2Fsessions%3Frange%3D7d");
});

it("switches the organization and asks everything again", async () => {
  const server = { org: "acme" };
  const seen = () => ({ ...session("signed_in", "governance"), org_id: server.org, organizations: ["acme", "other"] });
  const purge = (org: string) => ({ purge_id: org, subject_ref: `of ${org}`, status: "complete", created_at: 1 });
  const sent = serve({
    "GET /auth/session": seen,
    "PATCH /auth/session": () => {
      server.org = "other";
      return seen();
    },
    "GET /api/governance/purge-operations": () => ({ purge_operations: [purge(server.org)] }),
    "GET /api/governance/audit-events": { events: [] },
  });
  show(<App />, "/governance");
  await screen.findByText("of acme");
  const [choice] = screen.getAllByLabelText("Organization");
  await userEvent.selectOptions(choice as HTMLElement, "other");
  await screen.findByText("of other");
  expect(screen.queryByText("of acme")).toBeNull();
  expect(sent.find(({ method }) => method === "PATCH")?.body).toEqual({ org_id: "other" });
});

it("says that an address has no page", async () => {
  serve({ "GET /auth/session": session("local") });
  show(<App />, "/sessions/of/nobody");
  await screen.findByRole("heading", { level: 1, name: "There is no such page" });
  expect(screen.getByRole("link", { name: "Go to the overview" })).toHaveAttribute("href", "/overview");
});

it("says once that the server is away, and asks everything again when it is back", async () => {
  const server = { isAway: false };
  serve({
    "GET /auth/session": session("local"),
    "GET /health/live": () => (server.isAway ? Promise.reject(new TypeError("no answer")) : {}),
    "GET /api/keys": () => (server.isAway ? Promise.reject(new TypeError("no answer")) : { keys: [] }),
  });
  server.isAway = true;
  show(<App />, "/settings?view=keys");
  await heading();
  expect(await screen.findByText("The server cannot be reached.")).toBeInTheDocument();
  expect(screen.getAllByRole("alert")).toHaveLength(1);
  server.isAway = false;
  expect(await screen.findByText("No keys yet")).toBeInTheDocument();
  expect(screen.queryByText("The server cannot be reached.")).toBeNull();
});
