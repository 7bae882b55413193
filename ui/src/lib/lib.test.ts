import { describe, expect, it } from "vitest";
import { toCsv } from "./csv.ts";
import { ago, duration, percent, plural, points, signed, sourceName } from "./format.ts";
import { rangeOf } from "./range.ts";

describe("numbers as people read them", () => {
  it("signs points and never shows a minus zero", () => {
    expect(points(2.345)).toBe("+2.3 pp");
    expect(points(-2.345)).toBe("−2.3 pp");
    expect(signed(-0.04)).toBe("0.0");
    expect(points(null)).toBe("–");
  });
  it("shows what is missing as missing, not as zero", () => {
    expect(percent(null)).toBe("–");
    expect(percent(0)).toBe("0.0 %");
  });
  it("uses the two largest units of a duration", () => {
    expect(duration(75)).toBe("1 min 15 s");
    expect(duration(90_061)).toBe("1 d 1 h");
    expect(duration(0)).toBe("0 s");
  });
  it("counts in words", () => {
    expect(plural(1, "session")).toBe("1 session");
    expect(plural(1200, "session")).toBe("1,200 sessions");
    expect(sourceName("")).toBe("(no source)");
    expect(ago(1000, 1000 + 7200)).toBe("2 h ago");
  });
});

describe("CSV", () => {
  it("quotes what needs it and keeps formulas texts", () => {
    const text = toCsv({
      columns: ["a", "b,c"],
      rows: [
        ["=1+1", 2],
        ['say "hi"', null],
      ],
    });
    expect(text).toBe('a,"b,c"\r\n\'=1+1,2\r\n"say ""hi""",\r\n');
  });
});

describe("the range in the address", () => {
  const now = 1_768_478_401;
  const of = (query: string) => rangeOf(new URLSearchParams(query), now);
  it("is 30 days unless said otherwise, rounded to the minute", () => {
    const range = of("");
    expect(range.name).toBe("30d");
    expect(range.to % 60).toBe(0);
    expect(range.to - range.from).toBe(30 * 86_400);
    expect(of("range=nonsense").name).toBe("30d");
  });
  it("takes two days, the last one included, never beyond now", () => {
    const range = of("from=2026-01-01&to=2026-01-02");
    expect(range.name).toBe("custom");
    expect(range.to - range.from).toBe(2 * 86_400 - 1);
    expect(of("from=2026-01-02&to=2026-01-01").name).toBe("30d");
    expect(of("from=2026-01-01&to=2027-01-01").to).toBe(Math.ceil(now / 60) * 60);
  });
  it("counts by week when the range is long", () => {
    expect(of("range=90d").bucket).toBe("week");
    expect(of("range=90d&bucket=day").bucket).toBe("day");
    expect(of("range=7d").bucket).toBe("day");
  });
});
