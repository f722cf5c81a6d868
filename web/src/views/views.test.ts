import { expect, it } from "vitest";
import { type Comparison, type Delta, type Experiment, type Layer, variantNames, type Report, type Roofline, showUnsafeCharacters } from "../report";
import { tickCount } from "../chart";
import type { Cell } from "../document";
import { pieces, strength } from "../charts/modules";
import { baselineMean, stackRows, stepColor, steps } from "../charts/breakdown";
import { latencyCurve, latencyRange } from "../charts/latencies";
import { axisFormatter, contentsEntries, sectionInView, splitCode } from "./document";
import { selfTimeChange, isClipped, makeRows, candidateShare } from "./operators";
import type { ExperimentTimeline } from "../timeline";
import { otherVariants, placeByBytes, placeByWork, pointLabels, rate, ceilingLines } from "./roofline";
import { selectedRunIndex, isTyping, missingRun, moveWindow, operatorAddress, runLength, zoomWindow } from "./timeline";
import { escapeHtml } from "../format";

const layer = (path: string, parent: number, depth: number, total_ns: number): Layer => ({
  path,
  type: "torch.nn.Module",
  parent,
  depth,
  self_ns: 0,
  total_ns,
  operators: 1,
});

it("the marks of an axis have the unit of its longest time, also 0", () => {
  const cell = (value: number | undefined, unit: string) => ({ text: "", kind: "number", value, unit }) as unknown as Cell;
  const times = axisFormatter([cell(undefined, "ns"), cell(4260, "ns"), cell(11_960, "ns")]);
  expect([0, 2000, 10_000].map(times)).toEqual(["0 µs", "2 µs", "10 µs"]);
  expect(axisFormatter([cell(3, "GHz")])(2.5)).toBe("2.50 GHz");
});

it("the share of a module is that of the whole run", () => {
  const timeline = { runs: [{ times: [0, 100, 5, 30] }], watched: { times: [0, 80] } } as unknown as ExperimentTimeline;
  expect([runLength({ kind: "run", timeline, run: 0 }), runLength({ kind: "modules", timeline, run: 0 })]).toEqual([100, 100]);
  expect(runLength({ kind: "watched", timeline, run: 0 })).toBe(80);
});

it("modules lie side by side within their parent", () => {
  const all = pieces([layer("", 0, 0, 100), layer("a", 0, 1, 60), layer("a.b", 1, 2, 40), layer("c", 0, 1, 30)]);
  expect(all.map((piece) => [piece.from, piece.width])).toEqual([
    [0, 1],
    [0, 0.6],
    [0, 0.4],
    [0.6, 0.3],
  ]);
  expect(pieces([layer("", 0, 0, 0)])).toEqual([]);
});

const comparison = (verdict: string, ratio: number): Comparison =>
  ({
    baseline: "off",
    candidate: "on",
    pairing: "launches",
    launches: 10,
    baseline_runs: 2,
    candidate_runs: 2,
    delta_denominator: 4,
    whole: { baseline_total_ns: 20_000_000, candidate_total_ns: 12_000_000, delta_numerator_ns: -16_000_000 },
    latency: { verdict, ratio, ratio_low: ratio * 0.9, ratio_high: ratio * 1.1, confidence: 0.95, baseline_ms: 10, candidate_ms: 6 },
    groups: [
      { name: "GEMM", baseline_ms: 8, candidate_ms: 3.5, delta_numerator_ns: -18_000_000, verdict: "faster" },
      { name: "Other", baseline_ms: 2, candidate_ms: 2.5, delta_numerator_ns: 2_000_000, verdict: "inconclusive" },
    ],
    operators: [],
  }) as unknown as Comparison;

it("the steps of a waterfall lead from the baseline to the candidate", () => {
  const pair = comparison("faster", 1.67);
  const end = steps(pair, "groups").reduce((level, step) => level + step.delta, baselineMean(pair));
  expect(baselineMean(pair)).toBe(10);
  expect(end).toBeCloseTo(pair.whole.candidate_total_ns / pair.candidate_runs / 1e6, 12);
});

const experiment = (rows: [string, number][], operators: unknown[] = []): Experiment =>
  ({ name: "e", label: "e", groups: { rows: rows.map(([name, mean_ms]) => ({ name, mean_ms, share: null })) }, operators }) as unknown as Experiment;

it("a stack has a row for each group of any experiment, except groups without time", () => {
  const rows = stackRows([experiment([["A", 1], ["B", 0]]), experiment([["C", 2]])], "groups");
  expect(rows.map((row) => [row.name, ...row.values])).toEqual([
    ["A", 1, null],
    ["C", null, 2],
  ]);
});

it("operators that one variant lacks stay in the table", () => {
  const op = (key: string) => ({ key, name: key });
  const report = {
    experiments: [
      { ...experiment([], [op("1"), op("2")]), name: "off", label: "off" },
      { ...experiment([], [op("1"), op("3")]), name: "on", label: "on" },
    ],
  } as unknown as Report;
  const pair = {
    ...comparison("faster", 2),
    baseline_experiment: "off",
    candidate_experiment: "on",
    operators: [
      { name: "both", baseline_key: "1", candidate_key: "1", baseline_ms: 2, candidate_ms: 1 },
      { name: "old", baseline_key: "2", candidate_key: null, baseline_ms: 2, candidate_ms: null },
      { name: "new", baseline_key: null, candidate_key: "3", baseline_ms: null, candidate_ms: 1 },
      { name: "Clipped", baseline_ms: null, candidate_ms: null },
    ],
  } as unknown as Comparison;
  const rows = makeRows(report, pair, undefined);
  expect(rows.map((row) => [row.name, row.before?.key, row.after?.key])).toEqual([
    ["both", "1", "1"],
    ["old", "2", undefined],
    ["new", undefined, "3"],
  ]);
  expect(rows.map(selfTimeChange)).toEqual([-1, -2, 1]);
  expect(pair.operators.map(isClipped)).toEqual([false, false, false, true]);
});

it("operators with one name in one layer have the numbers of their calls in their names", () => {
  const op = (key: string, call: number, name = "GEMM #1", layer = "") => ({ key, name, call, program: { layer } });
  // The third instruction is the fourth call, because another instruction runs twice.
  const before = [op("f/1/backend/0", 0), op("f/2/kernel/0", 1, "add"), op("f/2/kernel/0/again1", 2, "add"), op("f/3/backend/0", 3), op("f/4/backend/0", 4, "only")];
  const after = [op("f/1/backend/0", 0), op("f/5/backend/0", 1, "GEMM #1", "other layer")];
  const report = { experiments: [{ name: "net", label: "off", operators: before }, { name: "net", label: "on", operators: after }] } as unknown as Report;
  const names = (pair: Comparison | undefined) => makeRows(report, pair, report.experiments[0]).map((row) => row.name);
  expect(names(undefined)).toEqual(["GEMM #1 (call 0)", "add (call 1)", "add (call 2)", "GEMM #1 (call 3)", "only"]);
  const match = (name: string, baseline_key: string | null, candidate_key: string | null) => ({ name, baseline_key, candidate_key, baseline_ms: 1, candidate_ms: 1 });
  const operators = [
    match("DELEGATE_CALL", "f/1/delegate_call/0", "f/1/delegate_call/0"),
    match("DELEGATE_CALL", "f/3/delegate_call/0", "f/5/delegate_call/0"),
    match("DELEGATE_CALL", "f/4/delegate_call/0", null),
    match("DELEGATE_CALL", "f/9/delegate_call/0", null),
    match("GEMM #1", "f/1/backend/0", "f/1/backend/0"),
    match("GEMM #1", null, "f/5/backend/0"),
    match("Method::execute", "f/-1/method/0", "f/-1/method/0"),
  ];
  const pair = { ...comparison("faster", 2), baseline_experiment: "net", candidate_experiment: "net", operators } as unknown as Comparison;
  expect(names(pair)).toEqual(["DELEGATE_CALL (call 0)", "DELEGATE_CALL (call 3 → 1)", "DELEGATE_CALL (call 4)", "DELEGATE_CALL", "GEMM #1", "GEMM #1", "Method::execute"]);
});

it("names are escaped in markup", () => {
  expect(escapeHtml(`<img src=x onerror="alert('1')">&`)).toBe("&#60;img src=x onerror=&#34;alert(&#39;1&#39;)&#34;&#62;&#38;");
});

it("a module's color gets stronger with its ratio, and insignificant changes have none", () => {
  const row = (verdict: string, ratio: number) => ({ verdict, ratio }) as unknown as Delta;
  expect(strength(row("faster", 4))).toBe(1);
  expect(strength(row("slower", 1 / 9))).toBe(1);
  expect(strength(row("faster", 2))).toBeCloseTo(0.625, 9);
  expect(strength(row("slower", 0.5))).toBeCloseTo(0.625, 9);
  expect(strength(row("inconclusive", 4))).toBe(0);
  expect(strength(undefined)).toBe(0);
});

it("memory ceilings rise to the highest compute ceiling, which is horizontal", () => {
  const roofline = { roofs: [{ kind: "compute", name: "fp32", per_s: 50 }, { kind: "memory", name: "L1", per_s: 100 }, { kind: "memory", name: "DRAM", per_s: 10 }], rows: [] } as unknown as Roofline;
  expect(ceilingLines(roofline, 0.1, 100)).toEqual([
    { name: "L1", line: [[0.1, 10], [1, 100]] },
    { name: "DRAM", line: [[0.1, 1], [10, 100]] },
    { name: "fp32", line: [[1, 100], [100, 100]] },
  ]);
  expect(rate(2.5e9, "FLOP")).toBe("2.50 GFLOP/s");
  expect(rate(1500, "B")).toBe("1.50 kB/s");
});

it("an operator is placed by its MACs, or by its bytes if it has no MACs", () => {
  const row = (macs: number, bytes: number) => ({ macs, bytes, flops_per_byte: (2 * macs) / bytes, macs_per_s: 10 * macs, bytes_per_s: 10 * bytes }) as Roofline["rows"][number];
  expect([placeByWork(row(8, 4)), placeByBytes(row(8, 4))]).toEqual([[4, 160], null]);
  expect([placeByWork(row(0, 4)), placeByBytes(row(0, 4))]).toEqual([null, [4, 40]]);
});

it("points that would lie on each other share the label of the longest", () => {
  expect(pointLabels([[0, 0], [5, 5], [300, 0], [8, 0], [60, 0]])).toEqual(["1–2, 4", "", "3", "", "5"]);
  // The second point is named by the first, so the third, which is only near the second, is named by itself.
  expect(pointLabels([[0, 0], [30, 0], [60, 0]])).toEqual(["1–2", "", "3"]);
  expect(pointLabels([])).toEqual([]);
});

it("the other variants are those of the experiment's pairs that have a roofline, without duplicates", () => {
  const pair = (baseline: string, candidate: string) => ({ baseline, candidate, baseline_experiment: "net", candidate_experiment: "net" });
  const report = {
    experiments: ["a", "b", "c", "d"].map((label) => ({ name: "net", label, roofline: label === "d" ? null : {} })),
    comparisons: [pair("b", "a"), pair("a", "c"), pair("b", "a"), pair("a", "d")],
  } as unknown as Report;
  expect([0, 1, 3].map((index) => otherVariants(report, index))).toEqual([[1, 2], [0], [0]]);
});

it("zooming keeps the time under the pointer in place, and zooming and moving stay within the run", () => {
  const shown = zoomWindow({ from: 0, to: 1000 }, 250, 0.5, 1000);
  expect(shown).toEqual({ from: 125, to: 625 });
  expect((250 - shown.from) / 500).toBe(0.25);
  expect(zoomWindow(shown, 250, 100, 1000)).toEqual({ from: 0, to: 1000 });
  expect(zoomWindow({ from: 500, to: 521 }, 510, 0.1, 1000).to - zoomWindow({ from: 500, to: 521 }, 510, 0.1, 1000).from).toBeCloseTo(20, 9);
  expect(moveWindow({ from: 900, to: 950 }, 200, 1000)).toEqual({ from: 950, to: 1000 });
  expect(moveWindow({ from: 100, to: 200 }, -500, 1000)).toEqual({ from: 0, to: 100 });
});

it("the run in the address is shown, else the median run", () => {
  const timeline = { median: 1, runs: [{ run: 4 }, { run: 9 }] } as unknown as ExperimentTimeline;
  expect(selectedRunIndex(timeline, "4")).toBe(0);
  expect(selectedRunIndex(timeline, "5")).toBe(1);
  expect(selectedRunIndex(timeline, null)).toBe(1);
  expect(selectedRunIndex({ ...timeline, median: null }, null)).toBe(0);
});

it("rows without a difference are not steps", () => {
  const row = (name: string, delta_numerator_ns: number) => ({ name, delta_numerator_ns }) as unknown as Delta;
  const groups = [row("Clipped", 0), row("GEMM", -4_000_000), row("Gone", 2_000_000)];
  expect(steps({ ...comparison("faster", 1.67), groups }, "groups")).toEqual([
    { name: "GEMM", delta: -1 },
    { name: "Gone", delta: 0.5 },
  ]);
});

it("a step of a waterfall has a color only if its change is significant, whatever its sign", () => {
  const verdicts = steps(comparison("faster", 1.67), "groups").map((step) => step.verdict);
  expect(verdicts).toEqual(["faster", "inconclusive"]);
  for (const theme of ["light", "dark"] as const) {
    const [total, faster, slower, ...others] = ["total", "faster", "slower", "inconclusive", "contended", "same", "emulated", null].map((kind) => stepColor(kind, theme));
    expect(new Set([total, faster, slower, others[0]]).size).toBe(4);
    expect(new Set(others).size).toBe(1);
  }
});

it("a delegate call has a share of the inference", () => {
  const pair = comparison("faster", 1.67);
  const row = { id: "", name: "DELEGATE_CALL", before: null, after: null, compared: { candidate_total_ns: 3_000_000 } } as unknown as Parameters<typeof candidateShare>[0];
  expect(candidateShare(row, pair)).toBe(0.25);
  expect(candidateShare({ ...row, compared: null }, pair)).toBeNull();
  expect(candidateShare({ ...row, compared: { candidate_total_ns: 0, candidate_ms: null } } as typeof row, pair)).toBeNull();
  expect(candidateShare({ ...row, after: { share: 0.5 } } as typeof row, pair)).toBe(0.5);
});

it("a variant whose experiment has another label shows both names", () => {
  const report = { experiments: [{ name: "a", label: "as it is" }, { name: "b", label: "off" }] } as unknown as Report;
  const pair = { ...comparison("faster", 1.6667), baseline_experiment: "b", candidate_experiment: "a" };
  expect(variantNames(report, pair)).toEqual({ baseline: "off", candidate: "on (as it is)" });
  expect(variantNames({ experiments: [] } as unknown as Report, pair)).toEqual({ baseline: "off", candidate: "on" });
});

it("a run that the file lacks is reported", () => {
  const timeline = { median: 1, runs: [{ run: 4 }, { run: 9 }] } as unknown as ExperimentTimeline;
  expect(missingRun(timeline, "5")).toBe("run 5 is not in this file: the median run is shown");
  expect(missingRun({ ...timeline, median: null }, "x")).toBe("run x is not in this file: its first run is shown");
  expect(missingRun(timeline, "9")).toBe("");
  expect(missingRun(timeline, null)).toBe("");
});

it("keys belong to the element into which the reader types", () => {
  const element = (tagName: string, isContentEditable = false) => ({ tagName, isContentEditable }) as unknown as EventTarget;
  for (const tag of ["INPUT", "SELECT", "TEXTAREA"]) expect(isTyping(element(tag)), tag).toBe(true);
  expect(isTyping(element("DIV", true))).toBe(true);
  for (const tag of ["BODY", "BUTTON", "A", "DIV"]) expect(isTyping(element(tag)), tag).toBe(false);
});

it("the latency range starts just below the fastest run, for any speed of the model", () => {
  for (const scale of [1e-3, 1, 1e3]) {
    const { start, end } = latencyRange(0.0163 * scale, 0.018 * scale, 0.4 * scale);
    expect(start / scale).toBeGreaterThan(0.0163 * 0.8);
    expect(start / scale).toBeLessThanOrEqual(0.0163 * 0.95);
    expect(end / scale).toBeCloseTo(0.0288, 9);
  }
  // If one run took a thousand times as long as the others, the slider's handles must still be apart.
  const tail = latencyRange(0.0154, 0.0162, 14);
  expect((tail.end - tail.start) / (tail.last - tail.start)).toBeGreaterThanOrEqual(0.05 - 1e-12);
  expect(latencyRange(1, 1.2, 2.5).last).toBe(2.5); // the axis is not cut if there is room
  const one = latencyRange(0.0163, 0.0163, 0.0163); // a single run
  expect(one.end).toBeGreaterThan(one.start);
});

it("runs that take equally long have a curve", () => {
  expect(latencyCurve({ ms: [0.5], share: [1] })).toEqual([
    [0.5, 0],
    [0.5, 1],
  ]);
});

it("unsafe characters of names are shown as their codes", () => {
  const name = "a\u202eb\u001b\n\\u202e";
  const json = '["a\\u202eb\\u001b\\n\\\\u202e"]';
  expect(JSON.parse(json)).toEqual([name]);
  expect(JSON.parse(showUnsafeCharacters(json))).toEqual(["a\\u202eb\\u001b\n\\u202e"]);
});

it("an axis has as many ticks as fit", () => {
  expect([0, 300, 390, 700, 1400].map(tickCount)).toEqual([2, 2, 2, 4, 6]);
});

it("sections of one kind share an entry of the contents, with a short title", () => {
  const sections = ["Findings, largest potential saving first", "Roofline: one", "Roofline: other", "By kernel: one"].map((title, i) => ({ title, slug: String(i) }));
  expect(contentsEntries(sections)).toEqual([
    { title: "Findings", slug: "0" },
    { title: "Roofline", slug: "1" },
    { title: "By kernel", slug: "3" },
  ]);
});

it("text in backticks and paths of the documentation are code", () => {
  const marked = (text: string) => splitCode(text).map((part) => (part.code ? `<${part.text}>` : part.text));
  expect(marked("use `a.b` instead (docs/guides/models.md#wrappers).")).toEqual(["use ", "<a.b>", " instead (", "<docs/guides/models.md#wrappers>", ")."]);
  expect(marked("`all of it`")).toEqual(["<all of it>"]);
  expect(marked("a ` alone, docs/x.md and docs/a-b/c.md")).toEqual(["a ` alone, ", "<docs/x.md>", " and ", "<docs/a-b/c.md>"]);
  expect(marked("`docs/x.md`")).toEqual(["<docs/x.md>"]);
  expect(marked("no docs here")).toEqual(["no docs here"]);
});

it("the section in view is the last above the line, and at the end of the page the one in the address, or the last", () => {
  const tops = [-900, -20, 300, 600].map((top, i) => ({ slug: String(i), top }));
  expect(sectionInView(tops, 80, false, null)).toBe("1");
  expect(sectionInView(tops, 80, false, "3")).toBe("1");
  expect(sectionInView(tops, 80, true, null)).toBe("3");
  expect(sectionInView(tops, 80, true, "2")).toBe("2");
  expect(sectionInView(tops, 80, true, "0")).toBe("3"); // above the screen
  expect(sectionInView(tops.slice(2), 80, false, null)).toBe(null);
});

it("the address of an operator names its comparison, because comparisons share keys", () => {
  const operators = [{ baseline_key: "k", candidate_key: "k" }];
  const pair = (baseline: string, candidate: string) => ({ baseline, candidate, baseline_experiment: "net", candidate_experiment: "net", operators });
  const report = {
    experiments: ["one", "two", "three"].map((label) => ({ name: "net", label })),
    comparisons: [pair("one", "two"), pair("two", "three")],
  } as unknown as Report;
  expect(operatorAddress(report, 0, "k")).toBe("#operators?op=k%7Ck");
  expect(operatorAddress(report, 2, "k")).toBe("#operators?pair=1&op=k%7Ck");
  expect(operatorAddress(report, 1, "k")).toBe("#operators?op=k%7Ck");
  expect(operatorAddress(report, 1, "k", 1)).toBe("#operators?pair=1&op=k%7Ck");
  expect(operatorAddress({ ...report, comparisons: [] }, 2, "k")).toBe("#operators?experiment=2&op=k");
});
