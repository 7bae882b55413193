import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { type Sent, serve, show, viewer } from "../../test-server.tsx";
import SettingsPage from "./page.tsx";

const NOW = Math.floor(Date.now() / 1000);
const webhook = (more: object = {}) => ({
  webhook_id: "w1",
  url: "https://hooks.example.org/evenhand",
  format: "standard",
  description: "on-call channel",
  events: ["session.failed"],
  enabled: true,
  created_at: NOW - 3600,
  failures: 0,
  next_attempt_at: null,
  ...more,
});
const delivery = (more: object = {}) => ({
  delivery_id: "d1",
  webhook_id: "w1",
  event: "session.failed",
  state: "failed",
  attempts: 12,
  status_code: 503,
  error: "down for maintenance",
  created_at: NOW - 90_000,
  last_attempt_at: NOW - 3600,
  next_attempt_at: null,
  ...more,
});

describe("webhooks", () => {
  it("are listed with their log, tested and turned off", async () => {
    const deliveries = [delivery()];
    const sent = serve({
      "GET /api/webhooks": { webhooks: [webhook({ failures: 3, next_attempt_at: NOW + 600 })] },
      "GET /api/webhooks/w1/deliveries": () => ({ deliveries }),
      "POST /api/webhooks/w1/test": () => {
        const test = delivery({
          delivery_id: "d2",
          event: "webhook.test",
          state: "delivered",
          status_code: 200,
          error: null,
        });
        deliveries.unshift(test);
        return test;
      },
      "PATCH /api/webhooks/w1": (request: Sent) => webhook(request.body as object),
    });
    show(<SettingsPage session={viewer} />, "/settings?view=webhooks");
    await screen.findByText("on-call channel");
    expect(screen.getByText("failing")).toBeVisible();
    await userEvent.click(screen.getByRole("button", { name: "Send a test" }));
    const log = await screen.findByRole("region", { name: "Log of on-call channel" });
    await within(log).findByText("webhook.test");
    expect(within(log).getByText("503 down for maintenance")).toBeVisible();
    await userEvent.click(screen.getByRole("button", { name: "Turn off" }));
    await waitFor(() => expect(sent.find((one) => one.method === "PATCH")?.body).toEqual({ enabled: false }));
  });

  it("are added by what is to be told, and show their secret once", async () => {
    const sent = serve({
      "GET /api/webhooks": { webhooks: [] },
      "POST /api/webhooks": { webhook: webhook(), secret: "whsec_c2VjcmV0" },
    });
    show(<SettingsPage session={viewer} />, "/settings?view=webhooks");
    await screen.findByText("Nobody is told yet");
    await userEvent.click(screen.getByRole("button", { name: "Add a webhook" }));
    const dialog = screen.getByRole("dialog", { name: "Add a webhook" });
    await userEvent.type(within(dialog).getByLabelText("URL"), "https://hooks.example.org/evenhand");
    expect(within(dialog).getByRole("button", { name: "Add it" })).toBeDisabled();
    await userEvent.click(within(dialog).getByLabelText("A session was judged a failure"));
    await userEvent.click(within(dialog).getByLabelText("The judge is paused"));
    await userEvent.click(within(dialog).getByRole("button", { name: "Add it" }));
    expect((await screen.findByTestId("secret")).textContent).toBe("whsec_c2VjcmV0");
    expect(sent.find((one) => one.method === "POST")?.body).toEqual({
      url: "https://hooks.example.org/evenhand",
      format: "standard",
      description: "",
      events: ["session.failed", "judge.paused"],
    });
    await userEvent.click(screen.getByRole("button", { name: "Done" }));
    expect(screen.queryByTestId("secret")).toBeNull();
  });

  it("cannot be changed by an auditor", async () => {
    serve({ "GET /api/webhooks": { webhooks: [webhook()] } });
    show(<SettingsPage session={{ ...viewer, role: "auditor" }} />, "/settings?view=webhooks");
    await screen.findByText("on-call channel");
    expect(screen.queryByRole("button", { name: "Send a test" })).toBeNull();
    expect(screen.queryByRole("button", { name: "Add a webhook" })).toBeNull();
  });
});

const rule = (more: object = {}) => ({
  rule_id: "r1",
  name: "Success on the web",
  metric: "success_rate",
  source: "web",
  agent_version: null,
  smallest_change: 3,
  enabled: true,
  created_at: NOW - 86_400,
  state: "still_worse",
  reason: null,
  looked_until: NOW - 7200,
  evidence: 0,
  episodes: [
    {
      raised_at: NOW - 7200,
      worse_since: NOW - 86_400,
      cleared_at: null,
      cleared_as: null,
      mean_before: 0.81,
      mean_since: 0.7,
      difference: -0.11,
      ci_lower: -0.15,
      ci_upper: -0.07,
      sessions: 1234,
    },
  ],
  ...more,
});

describe("alerts", () => {
  it("say how each rule stands and what it found", async () => {
    const waiting = rule({
      rule_id: "r2",
      name: "Turns",
      metric: "turns_to_resolution",
      source: null,
      state: "collecting",
    });
    serve({ "GET /api/alerts": { rules: [rule(), { ...waiting, reason: "no_evaluated_sessions", episodes: [] }] } });
    show(<SettingsPage session={viewer} />, "/settings?view=alerts");
    await screen.findByText("Success on the web");
    expect(screen.getByText("still worse")).toBeVisible();
    const episodes = screen.getByRole("list", { name: "Episodes of Success on the web" });
    expect(episodes.textContent).toMatch(/going on since .*: 70\.0 % instead of 81\.0 %, 1,234 sessions/);
    expect(screen.getByText(/no evaluated sessions/)).toBeVisible();
  });

  it("are added with the metric's own name and size", async () => {
    const sent = serve({ "GET /api/alerts": { rules: [] }, "POST /api/alerts": rule() });
    show(<SettingsPage session={viewer} />, "/settings?view=alerts");
    await userEvent.click(await screen.findByRole("button", { name: "Add a rule" }));
    await userEvent.selectOptions(screen.getByLabelText("What is watched"), "corrections");
    await userEvent.type(screen.getByLabelText("Worth an alert from (% of the mean)"), "20");
    await userEvent.click(screen.getByRole("button", { name: "Add it" }));
    await waitFor(() => expect(sent.some((one) => one.method === "POST")).toBe(true));
    expect(sent.find((one) => one.method === "POST")?.body).toEqual({
      name: "Corrections per session",
      metric: "corrections",
      source: null,
      agent_version: null,
      smallest_change: 20,
    });
  });
});
