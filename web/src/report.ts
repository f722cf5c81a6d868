// A report is analysis_summary.json (docs/reference/files.md) as etprof writes it. Values whose name ends in _ms are
// milliseconds, and values whose name ends in _ns are whole nanoseconds.

import type { Comparison, Experiment, Report } from "../schema/analysis_summary";
import type { Document } from "./document";

export type { Breakdown, Delta, Ladder, Layer, Operator } from "../schema/analysis_summary";
export type { Comparison, Experiment, Report };
export type OperatorDelta = Comparison["operators"][number];
export type Roofline = NonNullable<Experiment["roofline"]>;

// Returns the baseline and the candidate of a comparison, or null if the report lacks one of them.
export function findVariants(report: Report, comparison: Comparison): [Experiment, Experiment] | null {
  const find = (label: string, name: string): Experiment | undefined =>
    report.experiments.find((experiment) => experiment.label === label && experiment.name === name) ??
    report.experiments.find((experiment) => experiment.name === name);
  const baseline = find(comparison.baseline, comparison.baseline_experiment);
  const candidate = find(comparison.candidate, comparison.candidate_experiment);
  return baseline && candidate ? [baseline, candidate] : null;
}

// Returns the names of a comparison's variants, such as "avx512f on". If charts and tables show the experiment under
// another label, the name contains that label, too: "avx512f on (as it is)".
export function variantNames(report: Report, comparison: Comparison): { baseline: string; candidate: string } {
  const variants = findVariants(report, comparison);
  const withLabel = (name: string, label: string | undefined) => (label === undefined || label === name ? name : `${name} (${label})`);
  return { baseline: withLabel(comparison.baseline, variants?.[0].label), candidate: withLabel(comparison.candidate, variants?.[1].label) };
}

// Returns a function that returns the number of a key's call in an inference, from 0. The keys of a call and of the
// operators in it differ only in their kind and their place in the call: "forward/17/delegate_call/0", "forward/17/backend/3".
export function callNumbers(experiment: Experiment | undefined): (key: string | null | undefined) => number | null {
  const callOf = (key: string) => key.replace(/\/[a-z_]+\/\d+(?=\/[a-z]+\d+|$)/, "");
  const numbers = new Map(experiment?.operators?.map((op) => [callOf(op.key), op.call]));
  return (key) => (key ? (numbers.get(callOf(key)) ?? null) : null);
}

// Ids of the script elements that hold the page's data, as base64 of gzip, so that no text in it can end the element.
const REPORT_ID = "etprof-report";
const DOCUMENT_ID = "etprof-document";

// Makes the escapes of unsafe characters in JSON readable ("\u202e"), as a terminal shows them: control characters, and
// bidirectional marks, which would change the order of the text around a name.
export function showUnsafeCharacters(json: string): string {
  return json.replace(/(?<!\\)((?:\\\\)*)\\u(00[0189][\da-f]|007f|061c|200[ef]|202[89a-e]|206[6-9])/g, "$1\\\\u$2");
}

// Reads the value in an element of the page: base64 of gzip of JSON.
export async function unpack<T>(page: globalThis.Document, id: string): Promise<T> {
  const element = page.getElementById(id);
  if (!element?.textContent) throw new Error("this page holds nothing: etprof report writes one that does");
  const bytes = Uint8Array.from(atob(element.textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(showUnsafeCharacters(await new Response(stream).text())) as T;
}

// The data of the page: a document and, if it describes a report, that report.
export interface Contents {
  title: string;
  facts: string[]; // texts next to the title
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
