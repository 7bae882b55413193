import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { type Sent, serve, show, viewer } from "../../test-server.tsx";
import { DeadJobsCard } from "./dead.tsx";

const job = (job_id: string) => ({
  job_id,
  kind: "judge_session",
  attempts: 5,
  last_error: `reason of ${job_id}`,
  created_at: 1,
  finished_at: 2,
});
const pages = ({ query }: Sent) =>
  query.get("cursor") ? { jobs: [job("old")], next_cursor: null } : { jobs: [job("new")], next_cursor: "2.new" };

it("lists jobs that gave up, page by page, and tries one again", async () => {
  const sent = serve({ "GET /api/jobs/dead": pages, "POST /api/jobs/new/retry": { success: true } });
  show(<DeadJobsCard session={viewer} />);
  expect(await screen.findByText("reason of new")).toBeInTheDocument();
  await userEvent.click(screen.getByRole("button", { name: "Show more" }));
  expect(await screen.findByText("reason of old")).toBeInTheDocument();
  await userEvent.click(screen.getAllByRole("button", { name: "Retry" })[0] as HTMLElement);
  expect(await screen.findByText("It is tried again now")).toBeInTheDocument();
  expect(sent.filter(({ method }) => method === "POST").map(({ path }) => path)).toEqual(["/api/jobs/new/retry"]);
});

it("lets an auditor look only", async () => {
  serve({ "GET /api/jobs/dead": pages });
  show(<DeadJobsCard session={{ ...viewer, role: "auditor" }} />);
  await screen.findByText("reason of new");
  expect(screen.queryByRole("button", { name: "Retry" })).toBeNull();
});
