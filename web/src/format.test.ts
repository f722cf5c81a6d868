import { describe, expect, it } from "vitest";
import { axisTimesUpTo, bytes, count, digits, factor, interval, NONE, share, time, timesUpTo, verdict } from "./format";

const row = (verdict: string | null, ratio: number | null, low: number | null = null, high: number | null = null) => ({
  verdict,
  ratio,
  ratio_low: low,
  ratio_high: high,
});

describe("numbers", () => {
  it("have three significant digits and no exponent", () => {
    expect(digits(0.012345)).toBe("0.0123");
    expect(digits(9.999)).toBe("10.0");
    expect(digits(123.4)).toBe("123");
    expect(digits(-1.2345)).toBe("−1.23");
    expect(digits(0)).toBe("0");
    expect(digits(12345)).toBe("12345");
  });
  it("of a column of times share a unit and the number of decimals, except short times, which are never 0", () => {
    const text = (longest: number, ...ms: (number | null)[]) => [timesUpTo(longest).unit, ...ms.map(timesUpTo(longest).text)];
    expect(text(0.191, 0.191, 0.0724, -0.1188, 0, null)).toEqual(["µs", "191.0", "72.4", "−118.8", "0.0", NONE]);
    expect(text(0.191, 1e-3, 1e-4, 1.24e-5, -9.96e-6, 1e-9, -1e-9)).toEqual(["µs", "1.0", "0.10", "0.012", "−0.010", "<0.001", "<0.001"]);
    expect(text(0.0021, 0.0021, 0.00145, 3.3e-5)).toEqual(["µs", "2.10", "1.45", "0.033"]);
    expect(text(12.5, 12.5, 0.0625, 0.0012, 1e-6)).toEqual(["ms", "12.500", "0.063", "0.0012", "<0.0001"]);
    expect(text(12_500, 12_500, 250)).toEqual(["s", "12.50", "0.25"]);
  });
  it("of an axis have the unit of the longest", () => {
    const marks = (longest: number, ...ms: number[]) => ms.map(axisTimesUpTo(longest));
    expect(marks(0.12, 0, 0.02, 0.1, 0.12)).toEqual(["0 µs", "20 µs", "100 µs", "120 µs"]);
    expect(marks(1.5, 0, 0.05, 0.1 + 0.2, 1.5)).toEqual(["0 ms", "0.05 ms", "0.3 ms", "1.5 ms"]);
    expect(marks(20_000, 12_500)).toEqual(["12.5 s"]);
    expect(marks(5e-4, 2e-4, -1e-4)).toEqual(["200 ns", "−100 ns"]);
    expect(marks(0, 0)).toEqual(["0 ns"]);
  });
  it("have the unit that fits", () => {
    expect(time(8.453143)).toBe("8.45 ms");
    expect(time(0.0375)).toBe("37.5 µs");
    expect(time(0.0002)).toBe("200 ns");
    expect(time(12_345)).toBe("12.3 s");
    expect(bytes(30_691_328)).toBe("30.7 MB");
    expect(bytes(12)).toBe("12 B");
    expect(count(5_419_008)).toBe("5.42 M");
    expect(count(0)).toBe("0");
  });
  it("are shown as a dash if absent", () => {
    for (const text of [time(null), time(undefined), time(Number.NaN), share(null), factor(null), bytes(null)])
      expect(text).toBe(NONE);
  });
  it("distinguish a small share from zero", () => {
    expect(share(0.0004)).toBe("<0.1%");
    expect(share(0)).toBe("0%");
    expect(share(0.0345)).toBe("3.5%");
    expect(share(0.59)).toBe("59%");
    expect([share(0.994), share(0.996), share(1)]).toEqual(["99%", ">99%", "100%"]);
    expect(share(-0.059)).toBe("−5.9%");
    expect(share(-0.0004)).toBe(">−0.1%");
  });
});

describe("a verdict", () => {
  it("inverts the ratio and the interval of a slowdown", () => {
    expect(verdict(row("slower", 0.826))).toBe("1.21x slower");
    expect(interval(row("slower", 0.826, 0.75, 0.916))).toBe("[1.09, 1.33]");
    expect(verdict(row("faster", 1.9978))).toBe("2.00x faster");
    expect(verdict(row("slower", 1 / 1.0004))).toBe("1.0004x slower");
    expect(verdict(row("slower", 1 - 1e-7))).toBe("slower by less than 0.001%");
    expect(interval(row("faster", 2, 1.9068, 2.0931))).toBe("[1.91, 2.09]");
  });
  it("has the same digits as the terminal", () => {
    const texts = [1.837, 12.34, 0.123, 0.002875, 1.013, 1.0004, 0.9968, 1, 99.6].map(factor);
    expect(texts).toEqual(["1.84x", "12.34x", "0.12x", "0.0029x", "1.01x", "1.0004x", "0.997x", "1.00x", "100x"]);
  });
  it("never calls an inconclusive comparison the same", () => {
    expect(verdict(row("inconclusive", 1.001))).toBe("inconclusive");
    expect(verdict(row("same", 1.001))).toBe("same");
    expect(verdict(row(null, null))).toBe(NONE);
  });
  it("shows the width of a narrow interval", () => {
    expect(interval(row("faster", 1.05, 1.041, 1.059))).toBe("[1.041, 1.059]");
    expect(interval(row("faster", 12, 11.1, 13.2))).toBe("[11.1, 13.2]");
    expect(interval(row("faster", 12))).toBe("");
    expect(interval(row("inconclusive", 1, 0.0001, 2.8e19))).toBe("[<0.01, >10000]");
    expect(interval(row("faster", 1200, 1100, 1300))).toBe("[1100.0, 1300.0]");
  });
});
