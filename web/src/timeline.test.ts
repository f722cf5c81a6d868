import { expect, it } from "vitest";
import type { Report } from "./report";
import { counterparts, type ExperimentTimeline, firstEndingAfter, makeModuleSpans, nameSpans, sibling, spanAt, makeSpans, makeWatchedSpans, sumArea, ticks, selfTimesByRun } from "./timeline";

// Method::execute lasts from 0 to 100. It contains a delegate from 10 to 60 with two operators (15 to 30 and 32 to 58),
// and then a call from 70 to 90.
const timeline: ExperimentTimeline = {
  label: "on",
  traced_runs: 2,
  median: 0,
  operators: ["execute", "delegate", "a", "b", "call"].map((key) => ({ key, name: key, kind: "backend", category: "GEMM", group: "GEMM" })),
  shapes: [
    { op: [0, 1, 2, 3, 4], depth: [0, 1, 2, 2, 1] },
    { op: [0, 1, 2, 2], depth: [0, 1, 2, 2] },
  ],
  runs: [
    { run: 3, shape: 0, phase: "steady", launch: 0, round: 0, times: [0, 100, 10, 50, 5, 15, 2, 26, 10, 20] },
    { run: 4, shape: 1, phase: "steady", launch: 0, round: 0, times: [0, 100, 0, 100, 0, 10, 0, 30] },
    { run: 5, shape: 1, phase: "disturbed", launch: 0, round: 0, times: [0, 900, 0, 900, 0, 10, 0, 30] },
    { run: 0, shape: 1, phase: "first", launch: 0, round: 0, times: [0, 900, 0, 900, 0, 10, 0, 30] },
  ],
};

it("gaps and durations become starts and ends, self times and parents", () => {
  const spans = makeSpans(timeline, 0);
  expect([...spans.start]).toEqual([0, 10, 15, 32, 70]);
  expect([...spans.end]).toEqual([100, 60, 30, 58, 90]);
  expect([...spans.self]).toEqual([30, 9, 15, 26, 20]);
  expect([...spans.parent]).toEqual([-1, 0, 1, 1, 0]);
  expect(spans.levels).toEqual([[0], [1, 4], [2, 3]]);
  // The self times add up to the run.
  expect([...spans.self].reduce((sum, ns) => sum + ns, 0)).toBe(100);
  expect(makeSpans(timeline, 9).op).toEqual([]);
});

it("threads are rows below the operators, and the parent of their slices is the operator", () => {
  const spans = makeWatchedSpans({
    op: [0, 1, 2, 3],
    depth: [0, 1, 2, 2],
    times: [0, 100, 10, 50, 15, 15, 32, 26],
    slices: { thread: [1, 0, 0], span: [2, 2, 3], times: [16, 12, 17, 10, 40, 8], tasks: [3, 2, 1], busy: [12, 9, 8] },
    threads: 2,
    left_out: 0,
  });
  expect(spans.levels).toEqual([[0], [1], [2, 3], [5, 6], [4]]);
  expect(spans.op).toEqual([0, 1, 2, 3, 2, 2, 3]);
  expect([...spans.parent]).toEqual([-1, 0, 1, 1, 2, 2, 3]);
  expect([...spans.self]).toEqual([50, 9, 15, 26, 12, 10, 8]);
  spans.parent.forEach((parent, i) => {
    if (parent < 0) return;
    expect(spans.start[i]).toBeGreaterThanOrEqual(spans.start[parent] as number);
    expect(spans.end[i]).toBeLessThanOrEqual(spans.end[parent] as number);
  });
  expect(spanAt(spans, 4, 20, 0)).toBe(4);
});

it("finds the span under the pointer, or the nearest one", () => {
  const spans = makeSpans(timeline, 0);
  expect(spanAt(spans, 2, 20, 0)).toBe(2);
  expect(spanAt(spans, 2, 31, 0)).toBe(-1);
  expect(spanAt(spans, 2, 31.2, 1)).toBe(3);
  expect(spanAt(spans, 2, 30.5, 1)).toBe(2);
  expect(spanAt(spans, 7, 20, 5)).toBe(-1);
  expect(firstEndingAfter(spans, [2, 3], 30)).toBe(1);
  expect(firstEndingAfter(spans, [2, 3], 58)).toBe(2);
});

it("steps through the spans of one depth, and stops at the ends", () => {
  const spans = makeSpans(timeline, 0);
  expect(sibling(spans, 2, 1)).toBe(3);
  expect(sibling(spans, 3, 1)).toBe(3);
  expect(sibling(spans, 4, -1)).toBe(1);
});

it("ticks are round and within the window", () => {
  expect(ticks(0, 100, 5)).toEqual([0, 20, 40, 60, 80, 100]);
  expect(ticks(13, 57, 5)).toEqual([20, 30, 40, 50]);
  expect(ticks(5, 5, 5)).toEqual([]);
});

it("self times of an operator cover the steady-state runs, with loop iterations added up", () => {
  expect(selfTimesByRun(timeline, "delegate")).toEqual([
    { run: 3, ms: 9 / 1e6 },
    { run: 4, ms: 60 / 1e6 },
  ]);
  expect(selfTimesByRun(timeline, "a")[1]).toEqual({ run: 4, ms: 40 / 1e6 });
  expect(selfTimesByRun(timeline, "b").map((row) => row.run)).toEqual([3]);
  expect(selfTimesByRun(timeline, "nothing")).toEqual([]);
});

it("finds the counterpart of an operator in the other variant", () => {
  const report = {
    experiments: [
      { name: "off", label: "off, 1 thread", threads: 1 },
      { name: "on", label: "on, 1 thread", threads: 1 },
      { name: "on", label: "on, 2 threads", threads: 2 },
    ],
    comparisons: [
      {
        baseline: "off, 1 thread",
        baseline_experiment: "off",
        candidate: "on, 1 thread",
        candidate_experiment: "on",
        operators: [
          { baseline_key: "x", candidate_key: "a" },
          { baseline_key: "y", candidate_key: null },
        ],
      },
      {
        baseline: "on, 1 thread",
        baseline_experiment: "on",
        candidate: "on, 2 threads",
        candidate_experiment: "on",
        operators: [{ baseline_key: "a", candidate_key: "a" }],
      },
    ],
  } as unknown as Report;
  expect([...counterparts(report, 1, "a")]).toEqual([
    [0, "x"],
    [2, "a"],
  ]);
  expect([...counterparts(report, 2, "a")]).toEqual([[1, "a"]]);
  expect([...counterparts(report, 0, "x")]).toEqual([[1, "a"]]);
  expect([...counterparts(report, 0, "y")]).toEqual([]);
});

it("a call is named after its backend or kernel", () => {
  const kinds = ["method", "delegate_call", "backend", "backend", "kernel_call"] as const;
  const operators = timeline.operators.map((op, i) => ({ ...op, kind: kinds[i] as string }));
  const spans = makeSpans(timeline, 0);
  expect(nameSpans(spans, operators, (key) => (key === "a" || key === "b" ? "XnnpackBackend" : null))).toEqual(["execute", "XnnpackBackend", "a", "b", "call"]);
  const call = operators.map((op) => ({ ...op, kind: op.kind === "backend" ? "kernel" : op.kind }));
  expect(nameSpans(spans, call, () => null)[1]).toBe("a");
});

it("modules are spans around consecutive operators", () => {
  const layers: Record<string, string> = { a: "block.0.conv", b: "block.0", call: "head" };
  const moduleSpans = makeModuleSpans(makeSpans(timeline, 0), timeline.operators, (key) => layers[key]);
  const { spans, operators } = moduleSpans as NonNullable<typeof moduleSpans>;
  const text = spans.op.map((op, i) => `${operators[op]?.name} ${spans.start[i]}..${spans.end[i]}, self ${spans.self[i]}`);
  expect(text).toEqual(["block 15..58, self 0", "block.0 15..58, self 28", "block.0.conv 15..30, self 15", "head 70..90, self 20"]);
  expect([...spans.parent]).toEqual([-1, 0, 1, -1]);
  expect(spans.levels).toEqual([[0, 3], [1], [2]]);
  expect(makeModuleSpans(makeSpans(timeline, 0), timeline.operators, () => "")).toBe(null);
});

it("the sums of an area add up to the time covered by spans", () => {
  const spans = makeSpans(timeline, 0);
  const typeOf = (op: number) => (op < 2 || op === 4 ? "framework" : "GEMM");
  expect(sumArea(spans, 20, 80, typeOf)).toEqual([
    { type: "GEMM", count: 2, self: 36 },
    { type: "framework", count: 3, self: 24 },
  ]);
  expect(sumArea(spans, 100, 200, typeOf)).toEqual([]);
});
