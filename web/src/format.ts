// Numbers as people read them: units, sensible digits, an interval where it is an estimate. The same digits as
// etprof's terminal and Markdown.

export const NONE = "—";

// 0.000123 -> "0.12 µs", 1.5 -> "1.50 ms": three digits that count.
export function time(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return NONE;
  const size = Math.abs(ms);
  if (size === 0) return "0 ms";
  if (size < 1e-3) return `${digits(ms * 1e6)} ns`;
  if (size < 0.1) return `${digits(ms * 1e3)} µs`;
  if (size < 10_000) return `${digits(ms)} ms`;
  return `${digits(ms / 1e3)} s`;
}

// The times of a column, in the unit that suits the longest: its text, without the unit.
export function timesUpTo(longestMs: number): { unit: string; text: (ms: number | null | undefined) => string } {
  const [unit, scale, decimals] = longestMs >= 10_000 ? (["s", 1e-3, 2] as const) : longestMs >= 1 ? (["ms", 1, 3] as const) : (["µs", 1e3, 1] as const);
  const text = (ms: number | null | undefined) => (ms === null || ms === undefined || !Number.isFinite(ms) ? NONE : (ms * scale).toFixed(decimals).replace(/^-(?=0[.]0*$)/, "").replace("-", "−"));
  return { unit, text };
}

// Three significant digits, never an exponent: 0.0123, 1.23, 12.3, 123, 1234.
export function digits(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  // What rounds up to 10 has one decimal less than what does not.
  const rounded = Number(size.toPrecision(3));
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(rounded)));
  return value.toFixed(Math.min(decimals, 10)).replace("-", "−");
}

export function share(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  const percent = value * 100;
  if (percent > 0 && percent < 0.05) return "<0.1%";
  if (percent === 0) return "0%";
  if (percent >= 99.5 && percent < 100) return ">99%";
  return `${percent.toFixed(Math.abs(percent) >= 9.95 ? 0 : 1).replace("-", "−")}%`;
}

// In thousands as long as they go, with the unit of that step: the first is of the value itself.
function scaled(value: number | null | undefined, units: string[]): string {
  if (value === null || value === undefined) return NONE;
  let size = value;
  let unit = 0;
  while (size >= 999.5 && unit + 1 < units.length) {
    size /= 1000;
    unit++;
  }
  return `${unit === 0 ? size : digits(size)}${units[unit]}`;
}

export const bytes = (value: number | null | undefined): string => scaled(value, [" B", " kB", " MB", " GB", " TB"]);
export const count = (value: number | null | undefined): string => scaled(value, ["", " k", " M", " G", " T"]);

export interface Ratio {
  ratio: number | null;
  ratio_low: number | null;
  ratio_high: number | null;
  verdict: string | null;
}

// As etprof's terminal has them (RatioText in src/say/wording.cc): 1.004x, 1.84x, 12.33x, 120x.
export function factor(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  if (value >= 99.5) return `${value.toFixed(0)}x`;
  if (value > 0 && value < 0.0995) return `${Number(value.toPrecision(2))}x`;
  // As many digits as it takes to tell it from 1.
  const from = Math.abs(value - 1);
  let decimals = 2;
  while (from >= 5e-6 && from < 0.5 * 10 ** -decimals) decimals++;
  return `${value.toFixed(decimals)}x`;
}

// A ratio above 1 is a candidate that is faster; of one that is slower it is told the other way round, and its
// bounds with it.
export function told(row: Ratio): { ratio: number | null; low: number | null; high: number | null } {
  const { ratio, ratio_low: low, ratio_high: high } = row;
  if (row.verdict !== "slower") return { ratio, low, high };
  const inverse = (value: number | null) => (value === null ? null : 1 / value);
  return { ratio: inverse(ratio), low: inverse(high), high: inverse(low) };
}

// Digits enough that the width can be seen. Bounds far from what can be measured are not told to the digit.
export function interval(row: Ratio): string {
  const { low, high } = told(row);
  if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return "";
  const decimals = low >= 10 ? 1 : high - low < 0.02 ? 3 : 2;
  return `[${low < 0.005 ? "<0.01" : low.toFixed(decimals)}, ${high > 10_000 ? ">10000" : high.toFixed(decimals)}]`;
}

// "2.00x faster", "1.31x slower", "same", "inconclusive".
export function verdict(row: Ratio): string {
  if (row.verdict === "faster" || row.verdict === "slower") {
    const times = factor(told(row).ratio);
    return times === "1.00x" ? `${row.verdict} by less than 0.001%` : `${times} ${row.verdict}`;
  }
  return row.verdict ?? NONE;
}

// For the tooltips of charts, which are HTML.
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
