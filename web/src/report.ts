// What a report holds: analysis_summary.json (docs/reference/files.md), as etprof writes it. Times are milliseconds where a
// name ends in _ms and whole nanoseconds where it ends in _ns.

import type { Comparison, Experiment, Report } from "../schema/analysis_summary";
import type { Document } from "./document";

export type { Breakdown, Delta, Ladder, Layer, Operator } from "../schema/analysis_summary";
export type { Comparison, Experiment, Report };
export type OperatorDelta = Comparison["operators"][number];
export type Roofline = NonNullable<Experiment["roofline"]>;

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
