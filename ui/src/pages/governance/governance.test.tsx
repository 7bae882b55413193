import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { serve, show, viewer } from "../../test-server.tsx";
import GovernancePage from "./page.tsx";

const session = { ...viewer, governance: true };
const purge = {
  purge_id: "p-1",
  subject_ref: "subref_v1_0",
  request_ref: "reqref_v1_0",
  status: "complete",
  error_code: null,
  error_detail: null,
  created_at: 100,
  updated_at: 103,
  completed_at: 103,
};

it("erases only after the user id was typed, then shows the proof", async () => {
  const sent = serve({
    "POST /api/governance/preview-user": {
      subject_ref: "subref_v1_0",
      counts: { sessions: 3, interactions: 9, profiles: 0 },
      total: 12,
    },
    "POST /api/governance/erase-user": { purge_id: "p-1", status: "complete", deleted_counts: {}, completed_at: 103 },
    "GET /api/governance/purge-operations/p-1": purge,
    "GET /api/governance/purge-operations": { purge_operations: [purge] },
    "GET /api/governance/audit-events": { events: [] },
  });
  show(<GovernancePage session={session} />, "/governance?user=ada");
  expect(await screen.findByText("12 rows · subref_v1_0")).toBeInTheDocument();
  expect(screen.queryByText("profiles")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Erase this person" }));
  const erase = screen.getByRole("button", { name: "Erase for good" });
  expect(erase).toBeDisabled();
  await userEvent.type(screen.getByLabelText("Type ada to confirm"), "ada");
  await userEvent.click(erase);
  expect(await screen.findByRole("button", { name: "Download the proof" })).toBeInTheDocument();
  const asked = sent.filter((s) => s.path.endsWith("erase-user"));
  expect(asked).toHaveLength(1);
  expect(asked[0]?.body).toMatchObject({ user_id: "ada" });
});

it("says who did what, by name", async () => {
  const event = (sequence: number, actor: object) => ({
    sequence,
    operation: "KEY_CREATE",
    status: "ok",
    actor: { name: null, email: null, subject: null, ...actor },
    actor_ref: "actref_v1_0",
    subject_ref: null,
    request_ref: null,
    counts: {},
    created_at: 100,
  });
  serve({
    "GET /api/governance/purge-operations": { purge_operations: [] },
    "GET /api/governance/audit-events": {
      events: [
        event(3, { kind: "person", name: "Kim", email: "kim@example.org", subject: "k-1" }),
        event(2, { kind: "key", name: "robot" }),
        event(1, { kind: "command_line" }),
      ],
    },
  });
  show(<GovernancePage session={session} />, "/governance");
  expect(await screen.findByText("Kim (kim@example.org)")).toBeInTheDocument();
  expect(screen.getByText("robot")).toBeInTheDocument();
  expect(screen.getByText("the command line")).toBeInTheDocument();
});

it("without the grant it says who can give it", () => {
  serve({});
  show(<GovernancePage session={{ ...session, governance: false }} />, "/governance");
  expect(screen.getByText(/has no governance grant/)).toBeInTheDocument();
});

it("in local mode the first key comes from the command line", async () => {
  const sent = serve({ "POST /auth/session": session });
  show(<GovernancePage session={{ ...session, state: "local", governance: false }} />, "/governance");
  expect(screen.getByText("evenhand keys create --role dashboard --grant governance")).toBeInTheDocument();
  await userEvent.type(screen.getByLabelText("Token"), "eh_dashboard_secret");
  await userEvent.click(screen.getByRole("button", { name: "Sign in" }));
  expect(sent.map((s) => [s.path, s.body])).toEqual([["/auth/session", { token: "eh_dashboard_secret" }]]);
});

it("lists earlier erasures and opens one with its proof", async () => {
  serve({
    "GET /api/governance/purge-operations": { purge_operations: [purge] },
    "GET /api/governance/purge-operations/p-1": purge,
  });
  show(<GovernancePage session={session} />, "/governance");
  await userEvent.click(await screen.findByRole("button", { name: /subref_v1_0/ }));
  expect(await screen.findByRole("button", { name: "Download the proof" })).toBeInTheDocument();
});
