import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { percent } from "../lib/format.ts";
import { ChartCard, shownAs } from "./frame.tsx";
import { Intervals } from "./intervals.tsx";
import { withGaps } from "./shapes.ts";
import { Trend } from "./trend.tsx";

const DAY = 86_400;
/** Days 0 to `last`. */
const days = (last: number) => ({ from: 0, to: last * DAY, bucket: "day" as const });
const of = (...points: ReturnType<typeof point>[]) => [{ name: "success rate", color: "red", points }];
const point = (day: number, value: number | null) => ({ ts: day * DAY, value, low: null, high: null, n: 10 });

describe("a trend", () => {
  it("shows a missing bucket as a gap, not as a zero", () => {
    const filled = withGaps([point(0, 0.5), point(1, 0.6), point(4, 0.7)], 86_400, (ts) => ({
      ts,
      value: null,
      low: null,
      high: null,
      n: 0,
    }));
    expect(filled.map((p) => p.value)).toEqual([0.5, 0.6, null, 0.7]);
    const { container } = render(
      <Trend
        label="Success"
        range={days(5)}
        now={10 * DAY}
        lines={of(point(0, 0.5), point(1, 0.6), point(4, 0.7), point(5, 0.7))}
      />,
    );
    const line = [...container.querySelectorAll('path[stroke="red"]')].map((p) => p.getAttribute("d") ?? "").join("");
    expect(line.match(/M/g)).toHaveLength(2);
    expect(line).not.toMatch(/[CQ]/);
  });
  it("dots the bucket that is still filling, and no other", () => {
    const drawn = (now: number) => (
      <Trend label="Success" range={days(1)} now={now} lines={of(point(0, 0.5), point(1, 0.6))} />
    );
    const { rerender } = render(drawn(1.5 * DAY));
    expect(screen.getByTestId("unfinished")).toHaveAttribute("d", expect.stringContaining("M"));
    rerender(drawn(2 * DAY));
    expect(screen.queryByTestId("unfinished")).toBeNull();
  });
  it("has the chosen range for an axis, with ticks at the starts of buckets", () => {
    const { container } = render(
      <Trend
        label="Success"
        range={{ from: 4 * DAY, to: 40 * DAY, bucket: "week" }}
        now={99 * DAY}
        lines={of(point(18, 0.9))}
      />,
    );
    const ticks = [...container.querySelectorAll("[data-tick]")].map((t) => Number(t.getAttribute("data-tick")) / DAY);
    expect(ticks).toEqual([4, 11, 18, 25, 32, 39]);
    expect(screen.getByText("Jan 5")).toBeInTheDocument();
  });
  it("begins at 0 %, or at 50 % with a marked break", () => {
    const { rerender } = render(<Trend label="S" range={days(1)} now={9 * DAY} lines={of(point(0, 0.4))} />);
    expect(screen.getByText("0 %")).toBeInTheDocument();
    expect(screen.queryByTestId("break")).toBeNull();
    rerender(<Trend label="S" range={days(1)} now={9 * DAY} lines={of(point(0, 0.8))} />);
    expect(screen.queryByText("0 %")).toBeNull();
    expect(screen.getByText("100 %")).toBeInTheDocument();
    expect(screen.getByTestId("break")).toBeInTheDocument();
  });
  it("is read with the arrow keys, and opens a bucket with Enter", async () => {
    const opened: number[] = [];
    render(
      <Trend
        label="Success"
        range={days(1)}
        now={9 * DAY}
        lines={of(point(0, 0.5), point(1, 0.6))}
        onOpen={(ts) => opened.push(ts)}
      />,
    );
    screen.getByRole("img", { name: /Success: 2 days, latest 60.0 %/ }).focus();
    await userEvent.keyboard("{ArrowLeft}");
    expect(screen.getByText("success rate").parentElement).toHaveTextContent("success rate 60.0 %n = 10");
    await userEvent.keyboard("{Enter}");
    expect(opened).toEqual([DAY]);
  });
});

it("every chart can be read as a table that prints what it prints", async () => {
  render(
    <ChartCard
      title="Trend"
      file="t"
      data={{ columns: ["day", "rate"], rows: [["Mon", 0.5]], shown: shownAs(percent, "rate") }}>
      picture
    </ChartCard>,
  );
  await userEvent.click(screen.getByRole("button", { name: "Trend as a table" }));
  expect(screen.getByRole("table", { name: "Trend" })).toHaveTextContent("Mon50.0 %");
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
