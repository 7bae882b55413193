import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { serve, show } from "../../test-server.tsx";
import { QueueAgeCard, SpendingCard } from "./history.tsx";

it("tells how long due jobs waited", async () => {
  const ages = [
    { at: 1_768_003_200, oldest_due_age_seconds: 0 },
    { at: 1_768_003_800, oldest_due_age_seconds: 75 },
  ];
  serve({ "GET /api/jobs/ages": { step_seconds: 600, ages } });
  show(<QueueAgeCard />);
  await userEvent.click(await screen.findByRole("button", { name: /as a table/ }));
  expect(screen.getAllByRole("row").map((row) => row.textContent)).toContain("Jan 10, 00:1075");
});

it("tells what was paid day by day, and that nothing was", async () => {
  const day = (day: number, judging_usd: number) => ({ day, judging_usd, learning_usd: 0 });
  serve({ "GET /api/spending": { days: [day(1_768_003_200, 0), day(1_768_089_600, 0.004)] } });
  const { unmount } = show(<SpendingCard />);
  await userEvent.click(await screen.findByRole("button", { name: /as a table/ }));
  expect(screen.getAllByRole("row").map((row) => row.textContent)).toContain("2026-01-11$0.0040$0.00");
  unmount();
  serve({ "GET /api/spending": { days: [day(1_768_003_200, 0)] } });
  show(<SpendingCard />);
  expect(await screen.findByText("nothing was paid in 1 day")).toBeInTheDocument();
});
