// Reads the timelines of a report (docs/schema/timeline.schema.json): the spans of some runs of each experiment. Times
// are whole nanoseconds from the start of the run.
import type { ExperimentTimeline, Timeline, TimelineOperator, WatchedRun } from "../schema/timeline";
import type { Report } from "./report";
import { findVariants, unpack } from "./report";

export type { ExperimentTimeline, Timeline, TimelineOperator } from "../schema/timeline";

const TIMELINE_ID = "etprof-timeline";

// The timeline is unpacked once, when a view first reads it.
let unpacked: Promise<Timeline> | undefined;
export function readTimeline(page: Document): Promise<Timeline> {
  unpacked ??= unpack<Timeline>(page, TIMELINE_ID);
  return unpacked;
}

// The spans of a run as columns: parents before children, siblings in order of time.
export interface Spans {
  op: number[];
  depth: number[];
  start: Float64Array;
  end: Float64Array;
  self: Float64Array; // duration without the spans inside
  parent: Int32Array; // -1: no parent
  levels: number[][]; // by depth: indices of the spans in order of time
}

export function makeSpans(timeline: ExperimentTimeline, index: number): Spans {
  const run = timeline.runs[index];
  const shape = run && timeline.shapes[run.shape];
  const count = shape?.op.length ?? 0;
  const spans: Spans = {
    op: shape?.op ?? [],
    depth: shape?.depth ?? [],
    start: new Float64Array(count),
    end: new Float64Array(count),
    self: new Float64Array(count),
    parent: new Int32Array(count).fill(-1),
    levels: [],
  };
  const from = [0]; // by depth: the time from which the gap to the next span is counted
  const lastSpan: number[] = []; // by depth: the last span
  for (let i = 0; i < count; i++) {
    const depth = spans.depth[i] as number;
    const start = (from[depth] ?? 0) + (run?.times[2 * i] ?? 0);
    const end = start + (run?.times[2 * i + 1] ?? 0);
    spans.start[i] = start;
    spans.end[i] = end;
    spans.self[i] = end - start;
    from[depth] = end;
    from[depth + 1] = start;
    lastSpan[depth] = i;
    const parent = depth > 0 ? (lastSpan[depth - 1] ?? -1) : -1;
    spans.parent[i] = parent;
    if (parent >= 0) spans.self[parent] = (spans.self[parent] as number) - (end - start);
    (spans.levels[depth] ??= []).push(i);
  }
  return spans;
}

// Returns the spans of the watched run and, below them, a row for each thread. The tasks of a thread in one parallel
// region are one slice, whose parent is the operator.
export function makeWatchedSpans(watched: WatchedRun): Spans {
  const { op, depth, times, slices } = watched;
  const first = Math.max(-1, ...depth) + 1; // the row of thread 0
  const count = op.length + slices.span.length;
  const spans: Spans = {
    op: [...op, ...slices.span.map((span) => op[span] as number)],
    depth: [...depth, ...slices.thread.map((thread) => first + thread)],
    start: new Float64Array(count),
    end: new Float64Array(count),
    self: new Float64Array(count),
    parent: new Int32Array(count).fill(-1),
    levels: Array.from({ length: first + watched.threads }, () => []),
  };
  const lastSpan: number[] = []; // by depth: the last span
  for (let i = 0; i < count; i++) {
    const slice = i - op.length;
    const intervals = slice < 0 ? times : slices.times;
    const position = slice < 0 ? i : slice;
    const start = intervals[2 * position] ?? 0;
    const length = intervals[2 * position + 1] ?? 0;
    spans.start[i] = start;
    spans.end[i] = start + length;
    spans.self[i] = length;
    (spans.levels[spans.depth[i] as number] as number[]).push(i);
    if (slice >= 0) {
      spans.parent[i] = slices.span[slice] as number;
      continue;
    }
    const level = depth[i] as number;
    lastSpan[level] = i;
    const parent = level > 0 ? (lastSpan[level - 1] ?? -1) : -1;
    spans.parent[i] = parent;
    if (parent >= 0) spans.self[parent] = (spans.self[parent] as number) - length;
  }
  return spans;
}

// Returns the position in `level` (in order of time) of the first span that ends after `time`, or level.length.
export function firstEndingAfter(spans: Spans, level: number[], time: number): number {
  let low = 0;
  let high = level.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans.end[level[middle] as number] as number) > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Returns the span of `depth` at `time`, or the nearest span within `reach` ns, or -1.
export function spanAt(spans: Spans, depth: number, time: number, reach: number): number {
  const level = spans.levels[depth] ?? [];
  const position = firstEndingAfter(spans, level, time);
  let best = -1;
  let distance = Number.POSITIVE_INFINITY;
  for (const candidate of [position - 1, position]) {
    const span = level[candidate];
    if (span === undefined) continue;
    const start = spans.start[span] as number;
    const end = spans.end[span] as number;
    const candidateDistance = time < start ? start - time : time > end ? time - end : 0;
    if (candidateDistance <= reach && candidateDistance < distance) {
      best = span;
      distance = candidateDistance;
    }
  }
  return best;
}

// Returns the next or previous span of the same depth, or `span` itself at the ends.
export function sibling(spans: Spans, span: number, step: 1 | -1): number {
  const level = spans.levels[spans.depth[span] as number] ?? [];
  return level[level.indexOf(span) + step] ?? span;
}

// Returns about `wantedCount` round times from `from` to `to`. Their distance is 1, 2, or 5 times a power of ten.
export function ticks(from: number, to: number, wantedCount: number): number[] {
  const rough = (to - from) / Math.max(1, wantedCount);
  if (!(rough > 0)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9)) ?? 10) * power;
  const times: number[] = [];
  for (let i = Math.ceil(from / step); i * step <= to; i++) times.push(i * step);
  return times;
}

// Finds the operators that the report's comparisons match with an operator of `experiment`. Returns their keys by the
// index of the other experiment in the report.
export function counterparts(report: Report, experiment: number, key: string): Map<number, string> {
  const keys = new Map<number, string>();
  const variant = report.experiments[experiment];
  for (const comparison of report.comparisons) {
    const variants = findVariants(report, comparison);
    const isCandidate = variants?.[1] === variant;
    if (!variants || (!isCandidate && variants[0] !== variant)) continue;
    const row = comparison.operators.find((op) => (isCandidate ? op.candidate_key : op.baseline_key) === key);
    const otherKey = isCandidate ? row?.baseline_key : row?.candidate_key;
    if (otherKey) keys.set(report.experiments.indexOf(variants[isCandidate ? 0 : 1]), otherKey);
  }
  return keys;
}

// Returns the operator's self time in each steady-state run of the timeline, ms.
export function selfTimesByRun(timeline: ExperimentTimeline, key: string): { run: number; ms: number }[] {
  const op = timeline.operators.findIndex((operator) => operator.key === key);
  const selfTimes: { run: number; ms: number }[] = [];
  if (op < 0) return selfTimes;
  timeline.runs.forEach((run, index) => {
    if (run.phase !== "steady") return;
    if (!timeline.shapes[run.shape]?.op.includes(op)) return;
    const spans = makeSpans(timeline, index);
    let ns = 0;
    spans.op.forEach((spanOp, i) => {
      if (spanOp === op) ns += spans.self[i] as number;
    });
    selfTimes.push({ run: run.run, ms: ns / 1e6 });
  });
  return selfTimes;
}

// Returns a name for each span. A call is named after the delegate's backend or the kernel that it calls.
export function nameSpans(spans: Spans, operators: TimelineOperator[], backendOf: (key: string) => string | null | undefined): string[] {
  const names = spans.op.map((op) => operators[op]?.name ?? "");
  spans.parent.forEach((parent, span) => {
    const [call, inside] = [operators[spans.op[parent] ?? -1], operators[spans.op[span] as number]];
    if (!call?.kind.endsWith("_call") || names[parent] !== call.name || !inside) return; // the first span inside names the call
    const called = backendOf(inside.key) ?? (inside.kind === "kernel" ? inside.name : null);
    if (called) names[parent] = called;
  });
  return names;
}

// Makes spans of the modules that contain a run's operators. At each depth, consecutive operators of the same module
// share one span. `layerOf` returns the path of an operator's innermost module. Returns null if no module is known.
export function makeModuleSpans(spans: Spans, operators: TimelineOperator[], layerOf: (key: string) => string | null | undefined): { spans: Spans; operators: TimelineOperator[] } | null {
  const [ops, depths, levels]: [number[], number[], number[][]] = [[], [], []];
  const [start, end, self, parent]: [number[], number[], number[], number[]] = [[], [], [], []];
  const modules: TimelineOperator[] = [];
  const moduleIndex = new Map<string, number>();
  let openSpans: number[] = []; // by depth: the span of the previous operator's module
  spans.op.forEach((op, span) => {
    const layer = layerOf(operators[op]?.key ?? "");
    if (!layer) return;
    const parts = layer.split(".");
    const [from, to] = [spans.start[span] as number, spans.end[span] as number];
    openSpans = openSpans.slice(0, parts.length);
    parts.forEach((_, depth) => {
      const path = parts.slice(0, depth + 1).join(".");
      if (!moduleIndex.has(path)) {
        moduleIndex.set(path, modules.length);
        modules.push({ key: path, name: path, kind: "module", category: "module", group: "" });
      }
      const module = moduleIndex.get(path) as number;
      const previous = openSpans[depth];
      if (previous !== undefined && ops[previous] === module) {
        end[previous] = to;
        return;
      }
      openSpans = [...openSpans.slice(0, depth), start.length];
      ops.push(module);
      depths.push(depth);
      start.push(from);
      end.push(to);
      parent.push(depth > 0 ? (openSpans[depth - 1] as number) : -1);
      (levels[depth] ??= []).push(start.length - 1);
    });
  });
  if (start.length === 0) return null;
  start.forEach((from, i) => self.push((end[i] as number) - from));
  parent.forEach((outer, i) => {
    if (outer >= 0) self[outer] = (self[outer] as number) - ((end[i] as number) - (start[i] as number));
  });
  return { operators: modules, spans: { op: ops, depth: depths, levels, start: Float64Array.from(start), end: Float64Array.from(end), self: Float64Array.from(self), parent: Int32Array.from(parent) } };
}

export interface AreaSum {
  type: string;
  count: number;
  self: number; // ns
}

// Sums the self times between `from` and `to` by type, longest first. A span that reaches beyond the area counts with its
// part inside, so the sums add up to the time that spans cover there.
export function sumArea(spans: Spans, from: number, to: number, typeOf: (op: number) => string): AreaSum[] {
  const inside = spans.op.map((_, i) => Math.max(0, Math.min(to, spans.end[i] as number) - Math.max(from, spans.start[i] as number)));
  const self = [...inside];
  spans.parent.forEach((parent, i) => {
    if (parent >= 0) self[parent] = (self[parent] as number) - (inside[i] as number);
  });
  const sums = new Map<string, AreaSum>();
  spans.op.forEach((op, i) => {
    if (!((inside[i] as number) > 0)) return;
    const type = typeOf(op);
    const sum = sums.get(type) ?? { type, count: 0, self: 0 };
    sums.set(type, { type, count: sum.count + 1, self: sum.self + (self[i] as number) });
  });
  return [...sums.values()].sort((a, b) => b.self - a.self);
}
