import { act, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { api } from "./api/client.ts";
import { App } from "./app.tsx";
import { serve, show } from "./test-server.tsx";

const session = (state: string) => ({
  state,
  org_id: state === "signed_out" ? null : "acme",
  csrf: "proof",
  role: state === "signed_out" ? null : "dashboard",
  governance: false,
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
  await userEvent.type(await screen.findByLabelText("Dashboard token"), "eh_dashboard_new");
  await userEvent.click(screen.getByRole("button", { name: "Sign in" }));
  await heading();
  expect(screen.getByRole("button", { name: "Keys" })).toHaveAttribute("aria-pressed", "true");
});

it("stays where it is when a call is refused but the session stands", async () => {
  open("local");
  await heading();
  await act(() => api.GET("/api/whoami"));
  await vi.waitFor(() => expect(screen.queryByLabelText("Dashboard token")).toBeNull());
  await heading();
});
