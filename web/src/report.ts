// What a report holds: analysis_summary.json (docs/reference/files.md), as etprof writes it. Only what the page shows is
// typed. Times are milliseconds where a name ends in _ms and whole nanoseconds where it ends in _ns.

import type { Document } from "./document";

export interface Distribution {
  n: number;
  mean: number | null;
  sd: number | null;
  cv: number | null;
  min: number | null;
  max: number | null;
  p50: number | null;
  p90: number | null;
  p99: number | null;
}

export interface Row {
  name: string;
  total_ns: number;
  operators: number;
  mean_ms: number | null;
  share: number | null;
}

export interface Breakdown {
  runs: number;
  total_ns: number;
  rows: Row[];
}

export interface OperatorProgram {
  join: string;
  why: string | null;
  why_not_delegated: string | null;
  layer: string | null;
  source: string | null;
  shape: string | null;
  macs: number | null;
  bytes: number | null;
  producers: string[]; // keys of the operators that write what it reads
  consumers: string[];
}

export interface Operator {
  key: string;
  name: string;
  type: string;
  backend: string | null;
  portable: boolean;
  category: string;
  group: string;
  runs: number;
  total_ns: number;
  mean_ms: number | null;
  share: number | null;
  self_ms: Distribution;
  program: OperatorProgram | null;
}

export interface Layer {
  path: string;
  type: string | null;
  parent: number;
  depth: number;
  self_ns: number;
  total_ns: number;
  operators: number;
}

export interface RooflineRow {
  key: string;
  name: string;
  dtype: string;
  roof_dtype: string;
  time_ms: number;
  macs: number;
  bytes: number;
  flops_per_byte: number | null;
  macs_per_s: number;
  bytes_per_s: number;
  bound: "compute" | "memory";
  roof_ms: number;
  share_of_roof: number;
  would_save_ms: number;
}

export interface Roof {
  kind: "compute" | "memory";
  name: string;
  per_s: number; // multiply-adds, or bytes
}

export interface Roofline {
  roofs: Roof[];
  covered_ms: number;
  roof_ms: number;
  not_covered_ms: number;
  rows: RooflineRow[];
}

// In columns: entry i of each is burst i.
export interface Bursts {
  launch: number[];
  round: number[];
  seconds: (number | null)[];
  median_ms: number[];
  disturbed: boolean[];
  throttled: boolean[];
  frequency_mhz: (number | null)[];
  temperature_c: (number | null)[];
}

export interface Experiment {
  name: string;
  label: string;
  threads: number;
  emulated: boolean;
  latency_ms: Distribution;
  latency_ecdf: { ms: number[]; share: number[] } | null;
  burst_medians: Bursts;
  groups: Breakdown | null;
  categories: Breakdown | null;
  program: { layers: Layer[] } | null;
  operators?: Operator[]; // not of one without a trace, like all that follows
  roofline?: Roofline | null;
}

export type Verdict = "faster" | "slower" | "same" | "inconclusive" | "contended" | "emulated" | null;

export interface Quantity {
  verdict: Verdict;
  ratio: number | null;
  ratio_low: number | null;
  ratio_high: number | null;
}

export interface TimeQuantity extends Quantity {
  baseline_ms: number | null;
  candidate_ms: number | null;
}

export interface ComparisonRow extends TimeQuantity {
  name: string;
  baseline_total_ns: number | null;
  candidate_total_ns: number | null;
  delta_numerator_ns: number;
}

export interface OperatorComparison extends ComparisonRow {
  baseline_key: string | null;
  candidate_key: string | null;
}

export interface Comparison {
  baseline: string;
  candidate: string;
  baseline_experiment: string;
  candidate_experiment: string;
  pairing: string;
  latency: TimeQuantity;
  baseline_runs: number;
  candidate_runs: number;
  delta_denominator: number;
  whole: { baseline_total_ns: number; candidate_total_ns: number; delta_numerator_ns: number };
  groups: ComparisonRow[];
  categories: ComparisonRow[];
  layers: ComparisonRow[];
  operators: OperatorComparison[];
}

export interface LadderCell {
  level: string;
  threads: number;
  ms: number | null;
}

export interface Ladder {
  levels: { name: string }[];
  threads: number[];
  latency: { cells: LadderCell[] };
}

export interface Report {
  model_id: string;
  backend: string | null;
  dtype: string | null;
  platform: string | null;
  generated_at: string | null;
  experiments: Experiment[];
  comparisons: Comparison[];
  ladder: Ladder | null;
}

// The two sides of a comparison among the report's experiments.
export function sidesOf(report: Report, comparison: Comparison): [Experiment, Experiment] | null {
  const find = (label: string, name: string): Experiment | undefined =>
    report.experiments.find((experiment) => experiment.label === label && experiment.name === name) ??
    report.experiments.find((experiment) => experiment.name === name);
  const baseline = find(comparison.baseline, comparison.baseline_experiment);
  const candidate = find(comparison.candidate, comparison.candidate_experiment);
  return baseline && candidate ? [baseline, candidate] : null;
}

// What a side of a comparison is called: "avx512f on", and where its experiment has another name that too, by which
// charts and tables know it: "avx512f on (as it is)".
export function namesOf(report: Report, comparison: Comparison): { baseline: string; candidate: string } {
  const sides = sidesOf(report, comparison);
  const name = (said: string, label: string | undefined) => (label === undefined || label === said ? said : `${said} (${label})`);
  return { baseline: name(comparison.baseline, sides?.[0].label), candidate: name(comparison.candidate, sides?.[1].label) };
}

// Where the data stands in the page: gzip in base64, so that nothing in it can end the script element.
const REPORT_ID = "etprof-report";
const DOCUMENT_ID = "etprof-document";

// The value that an element of the page holds: JSON, gzip, base64.
export async function unpack<T>(page: globalThis.Document, id: string): Promise<T> {
  const element = page.getElementById(id);
  if (!element?.textContent) throw new Error("this page holds nothing: etprof report writes one that does");
  const bytes = Uint8Array.from(atob(element.textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text()) as T;
}

// What the page shows: a document, and what else there is of the report that it is of.
export interface Contents {
  title: string;
  facts: string[]; // beside the title
  report: Report | null;
  document: Document;
}

export async function readContents(page: globalThis.Document): Promise<Contents> {
  const document = await unpack<Document>(page, DOCUMENT_ID);
  const element = page.getElementById(REPORT_ID);
  if (!element) return { title: document.title, facts: document.facts, report: null, document };
  const report = await unpack<Report>(page, REPORT_ID);
  const facts = [report.backend, report.dtype, report.platform, report.generated_at?.slice(0, 10)].filter((fact) => typeof fact === "string" && fact !== "") as string[];
  return { title: element.dataset.title ?? element.dataset.name ?? (report.model_id || "Report"), facts, report, document };
}
