import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { serve, show, viewer } from "../../test-server.tsx";
import { Keys } from "./keys.tsx";

const DAY = 86_400;
const key = (name: string, days: number | null) => ({
  credential_id: name,
  name,
  role: "agent",
  grants: [],
  reads: true,
  created_at: Date.now() / 1000 - DAY,
  expires_at: days === null ? null : Date.now() / 1000 + days * DAY,
  last_used_at: null,
  revoked_at: null,
});

it("warns before a key ends, and says that one has", async () => {
  serve({ "GET /api/keys": { keys: [key("lasting", null), key("far", 90), key("near", 3), key("gone", -1)] } });
  show(<Keys session={viewer} />);
  expect(await screen.findByText("1 key ends within 14 days:")).toBeInTheDocument();
  expect(screen.getByText("3 live keys")).toBeInTheDocument();
  expect(screen.getAllByText("ends soon")).toHaveLength(1);
  expect(screen.getAllByText("ended")).toHaveLength(1);
});

it("makes a key that ends after the days that were asked for", async () => {
  const sent = serve({
    "GET /api/keys": { keys: [] },
    "POST /api/keys": { key: key("short", 7), token: "eh_agent_x" },
  });
  show(<Keys session={viewer} />);
  await userEvent.click(await screen.findByRole("button", { name: "Make a key" }));
  await userEvent.type(screen.getByLabelText("Ends after days"), "7");
  await userEvent.click(screen.getByRole("button", { name: "Make it" }));
  expect(await screen.findByText("eh_agent_x")).toBeInTheDocument();
  expect(sent.find(({ method }) => method === "POST")?.body).toMatchObject({ role: "agent", expires_in_days: 7 });
});
