// Formats numbers for people: with units, significant digits, and the interval of an estimate. The digits are the same
// as in etprof's terminal output and Markdown.

export const NONE = "—";

// Formats a time with three significant digits: 0.0123 -> "12.3 µs", 1.5 -> "1.50 ms".
export function time(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return NONE;
  const size = Math.abs(ms);
  if (size === 0) return "0 ms";
  if (size < 1e-3) return `${digits(ms * 1e6)} ns`;
  if (size < 0.1) return `${digits(ms * 1e3)} µs`;
  if (size < 10_000) return `${digits(ms)} ms`;
  return `${digits(ms / 1e3)} s`;
}

// Returns the unit that suits the longest time of a column, and a function that formats times in that unit, without it.
// Times have a fixed number of decimals. A shorter time gets more, so that it is not shown as 0.
export function timesUpTo(longestMs: number): { unit: string; text: (ms: number | null | undefined) => string } {
  const [unit, scale, decimals, maxDecimals] =
    longestMs >= 10_000 ? (["s", 1e-3, 2, 3] as const) : longestMs >= 1 ? (["ms", 1, 3, 4] as const) : (["µs", 1e3, longestMs >= 0.01 ? 1 : 2, 3] as const);
  const text = (ms: number | null | undefined) => {
    if (ms === null || ms === undefined || !Number.isFinite(ms)) return NONE;
    const size = Math.abs(ms * scale);
    const smallest = 10 ** -maxDecimals;
    if (size > 0 && size < smallest / 2) return `<${smallest.toFixed(maxDecimals)}`;
    // At least two digits from the first one that is not 0.
    const shownDecimals = size === 0 ? decimals : Math.min(maxDecimals, Math.max(decimals, 1 - Math.floor(Math.log10(size))));
    return `${ms < 0 ? "−" : ""}${size.toFixed(shownDecimals)}`;
  };
  return { unit, text };
}

// Returns a formatter for the marks of an axis, which all have the unit that suits the longest time: "20 µs", "100 µs".
export function axisTimesUpTo(longestMs: number): (ms: number) => string {
  const [unit, scale] = longestMs >= 10_000 ? (["s", 1e-3] as const) : longestMs >= 1 ? (["ms", 1] as const) : longestMs >= 1e-3 ? (["µs", 1e3] as const) : (["ns", 1e6] as const);
  return (ms) => `${Number((ms * scale).toPrecision(6))} ${unit}`.replace("-", "−");
}

// Formats a number with at least three significant digits and no exponent: 0.0123, 1.23, 12.3, 123, 1234.
export function digits(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  // A value that rounds up to a power of ten, such as 9.999, has one decimal less.
  const rounded = Number(size.toPrecision(3));
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(rounded)));
  return value.toFixed(Math.min(decimals, 10)).replace("-", "−");
}

export function share(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  const percent = value * 100;
  if (percent > 0 && percent < 0.05) return "<0.1%";
  if (percent < 0 && percent > -0.05) return ">−0.1%";
  if (percent === 0) return "0%";
  if (percent >= 99.5 && percent < 100) return ">99%";
  return `${percent.toFixed(Math.abs(percent) >= 9.95 ? 0 : 1).replace("-", "−")}%`;
}

// Divides by 1000 while the value has more than three digits, and appends the unit of that step. `units` starts with the
// unit of the undivided value.
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

// Formats a ratio as etprof's terminal does (RatioText in src/show/wording.cc): 1.004x, 1.84x, 12.33x, 120x.
export function factor(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  if (value >= 99.5) return `${value.toFixed(0)}x`;
  if (value > 0 && value < 0.0995) return `${Number(value.toPrecision(2))}x`;
  // The ratio gets as many digits as distinguish it from 1.
  const distance = Math.abs(value - 1);
  let decimals = 2;
  while (distance >= 5e-6 && distance < 0.5 * 10 ** -decimals) decimals++;
  return `${value.toFixed(decimals)}x`;
}

// A ratio above 1 means that the candidate is faster. For a slower candidate, the ratio and its bounds are shown inverted.
function displayedRatio(row: Ratio): { ratio: number | null; low: number | null; high: number | null } {
  const { ratio, ratio_low: low, ratio_high: high } = row;
  if (row.verdict !== "slower") return { ratio, low, high };
  const inverse = (value: number | null) => (value === null ? null : 1 / value);
  return { ratio: inverse(ratio), low: inverse(high), high: inverse(low) };
}

// The interval has enough digits to show its width. Bounds outside the measurable range are shown as a limit.
export function interval(row: Ratio): string {
  const { low, high } = displayedRatio(row);
  if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return "";
  const decimals = low >= 10 ? 1 : high - low < 0.02 ? 3 : 2;
  return `[${low < 0.005 ? "<0.01" : low.toFixed(decimals)}, ${high > 10_000 ? ">10000" : high.toFixed(decimals)}]`;
}

// Returns text such as "2.00x faster", "1.31x slower", "same", or "inconclusive".
export function verdict(row: Ratio): string {
  if (row.verdict === "faster" || row.verdict === "slower") {
    const times = factor(displayedRatio(row).ratio);
    return times === "1.00x" ? `${row.verdict} by less than 0.001%` : `${times} ${row.verdict}`;
  }
  return row.verdict ?? NONE;
}

// Tooltips of charts are HTML, so names in them are escaped.
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
