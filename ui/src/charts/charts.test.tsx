import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { ChartCard } from "./frame.tsx";
import { Intervals } from "./intervals.tsx";
import { Trend, withGaps } from "./trend.tsx";

const DAY = 86_400;
const point = (day: number, value: number | null) => ({ ts: day * DAY, value, low: null, high: null, n: 10 });

describe("a trend", () => {
  it("shows a missing bucket as a gap, not as a zero", () => {
    const filled = withGaps([point(0, 0.5), point(1, 0.6), point(4, 0.7)], "day");
    expect(filled.map((p) => p.value)).toEqual([0.5, 0.6, null, 0.7]);
    const { container } = render(
      <Trend
        label="Success"
        bucket="day"
        now={10 * DAY}
        points={[point(0, 0.5), point(1, 0.6), point(4, 0.7), point(5, 0.7)]}
      />,
    );
    const line = [...container.querySelectorAll("path.stroke-accent")].map((p) => p.getAttribute("d") ?? "").join("");
    expect(line.match(/M/g)).toHaveLength(2);
    expect(line).not.toMatch(/[CQ]/);
  });
  it("dots the bucket that is still filling", () => {
    const { container, rerender } = render(
      <Trend label="Success" bucket="day" now={1.5 * DAY} points={[point(0, 0.5), point(1, 0.6)]} />,
    );
    const dotted = () => container.querySelector('path[stroke-dasharray="2 4"]')?.getAttribute("d");
    expect(dotted()).toBeTruthy();
    rerender(<Trend label="Success" bucket="day" now={3 * DAY} points={[point(0, 0.5), point(1, 0.6)]} />);
    expect(dotted()).toBeFalsy();
  });
  it("is read with the arrow keys", async () => {
    render(<Trend label="Success" bucket="day" now={9 * DAY} points={[point(0, 0.5), point(1, 0.6)]} />);
    screen.getByRole("img", { name: /Success: 2 days, latest 60.0 %/ }).focus();
    await userEvent.keyboard("{ArrowLeft}");
    expect(screen.getByText("success rate 60.0 %")).toBeInTheDocument();
    expect(screen.getByText("n = 10")).toBeInTheDocument();
  });
});

it("every chart can be read as a table", async () => {
  render(
    <ChartCard title="Trend" file="t" data={{ columns: ["day", "rate"], rows: [["Mon", 0.5]] }}>
      picture
    </ChartCard>,
  );
  await userEvent.click(screen.getByRole("button", { name: "Trend as a table" }));
  expect(screen.getByRole("table", { name: "Trend" })).toHaveTextContent("Mon0.5000");
  expect(screen.queryByText("picture")).toBeNull();
});

it("an interval that cannot be given says why", () => {
  render(
    <Intervals
      label="Lift"
      rows={[
        { name: "Headline", value: 2, low: -1, high: 5 },
        { name: "Daily", value: null, low: null, high: null, note: "too few users" },
      ]}
    />,
  );
  expect(screen.getByText("−1.0 to +5.0")).toBeInTheDocument();
  expect(screen.getByText("too few users")).toBeInTheDocument();
});
