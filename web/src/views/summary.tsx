import { steps } from "../charts/breakdown";
import { Bursts, Latencies } from "../charts/latencies";
import { bytes, change, interval, NONE, type Ratio, share, time, verdict } from "../format";
import { Section, VerdictText } from "../parts";
import { type Comparison, type Experiment, type Insight, namesOf, type Report, sidesOf } from "../report";
import { href } from "../route";
import { type Column, DataTable, verdictFields } from "../table";

// "avx on is 2.00x faster than avx off: 8.45 ms -> 4.02 ms."
export function answer(comparison: Comparison, names: { baseline: string; candidate: string } = comparison): string {
  const { latency } = comparison;
  const { baseline, candidate } = names;
  const times = `${time(latency.baseline_ms)} → ${time(latency.candidate_ms)}`;
  switch (latency.verdict) {
    case "faster":
    case "slower":
      return `${candidate} is ${verdict(latency)} than ${baseline}: ${times}.`;
    case "same":
      return `${candidate} is as fast as ${baseline}: ${times}.`;
    case "inconclusive":
      return `${candidate} against ${baseline} is undecided: ${times}.`;
    case "contended":
      return `${candidate} and ${baseline} cannot be compared: other processes left too few runs that had a processor whenever they wanted one.`;
    case "emulated":
      return `${candidate} and ${baseline} ran on an emulated CPU: timings are not meaningful.`;
    default:
      return `${candidate} against ${baseline}: ${times}.`;
  }
}

export function sureness(comparison: Comparison): string {
  const { latency } = comparison;
  const bounds = interval(latency);
  if (!bounds || latency.verdict === "emulated") return "";
  const percent = latency.confidence === null ? "" : `${share(latency.confidence)} `;
  const how =
    comparison.pairing === "launches"
      ? `over ${comparison.launches} launches of both sides, measured in turns`
      : "the sides were not measured in turns: drift between them cannot be seen";
  return `${percent}interval ${bounds}, ${how}.`;
}

// Where the difference comes from: "GEMM gains 0.615 ms of the 0.846 ms (73 %), Convolution 0.202 ms (24 %)." of
// means of traced runs: of those groups that are certain to go the same way. "" where the verdict is none, or there
// is no trace.
export function why(comparison: Comparison): string {
  const { verdict: said } = comparison.latency;
  const whole = comparison.whole.delta_numerator_ns / comparison.delta_denominator / 1e6;
  if ((said !== "faster" && said !== "slower") || !Number.isFinite(whole) || whole < 0 !== (said === "faster")) return "";
  const certain = steps(comparison, "groups").filter((step) => step.row.verdict === said && step.delta / whole > 0);
  if (certain.length === 0) return "no group's part of the difference is certain.";
  const parts = certain
    .filter((step) => step.delta / whole > 0.05)
    .sort((a, b) => b.delta / whole - a.delta / whole)
    .slice(0, 3);
  const told = parts.map((step, i) => {
    const size = time(Math.abs(step.delta));
    const part = share(step.delta / whole);
    return i === 0 ? `${step.name} ${said === "faster" ? "gains" : "loses"} ${size} of the ${time(Math.abs(whole))} (${part})` : `${step.name} ${size} (${part})`;
  });
  return told.length > 0 ? `${told.join(", ")}.` : "each group whose part is certain has less than 5 % of the difference.";
}

function sentence(clause: string): string {
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
}

function Next({ insight }: { insight: Insight | undefined }) {
  if (!insight) return null;
  return (
    <p>
      <b>What next:</b> {insight.text} <a href={href("insights")}>All insights</a>
    </p>
  );
}

function Answer({ report, comparison }: { report: Report; comparison: Comparison }) {
  const next = report.insights.find((insight) => insight.experiment === comparison.candidate_experiment);
  return (
    <div class="answer">
      <p class={`headline ${comparison.latency.verdict ?? ""}`}>{answer(comparison, namesOf(report, comparison))}</p>
      <p>
        <b>How sure:</b> {sureness(comparison) || "there are too few runs for an interval."}
      </p>
      {why(comparison) && (
        <p>
          <b>Why:</b> {why(comparison)} <a href={href("where")}>Where the time goes</a>
        </p>
      )}
      {comparison.speedup_factors && (
        <p>
          {comparison.speedup_factors.text} <a href={href("roofline")}>Roofline</a>
        </p>
      )}
      {comparison.outputs && <p class="quiet">{sentence(comparison.outputs.note)}</p>}
      <Next insight={next} />
      {comparison.warnings.map((warning) => (
        <p key={warning} class="warning">
          {warning}
        </p>
      ))}
    </div>
  );
}

// More pairs than these are told in a table.
const kMostAnswers = 3;

const comparisonColumns = (report: Report): Column<Comparison>[] => [
  { id: "candidate", title: "Experiment", value: (c) => namesOf(report, c).candidate },
  { id: "baseline", title: "Against", value: (c) => namesOf(report, c).baseline },
  { id: "before", title: "Before", value: (c) => c.latency.baseline_ms, text: (c) => time(c.latency.baseline_ms), unit: "ms", numeric: true },
  { id: "after", title: "After", value: (c) => c.latency.candidate_ms, text: (c) => time(c.latency.candidate_ms), unit: "ms", numeric: true },
  { id: "verdict", title: "Verdict", value: (c) => c.latency.ratio, text: (c) => <VerdictText row={c.latency} />, fields: verdictFields("Verdict", (c) => c.latency) },
  { id: "outputs", title: "Outputs", value: (c) => c.outputs?.note ?? null },
];

const kExperiments: Column<Experiment>[] = [
  { id: "label", title: "Experiment", value: (e) => e.label },
  { id: "threads", title: "Threads", value: (e) => e.threads, numeric: true },
  { id: "median", title: "Median", value: (e) => e.latency_ms.p50, text: (e) => time(e.latency_ms.p50), unit: "ms", numeric: true },
  {
    id: "interval",
    title: "Interval of the median",
    hint: "over launches",
    value: (e) => e.latency_interval_ms?.low ?? null,
    fields: [
      { title: "Interval of the median: low (ms)", value: (e) => e.latency_interval_ms?.low ?? null },
      { title: "Interval of the median: high (ms)", value: (e) => e.latency_interval_ms?.high ?? null },
    ],
    text: (e) =>
      e.latency_interval_ms ? `[${time(e.latency_interval_ms.low)}, ${time(e.latency_interval_ms.high)}]` : NONE,
    numeric: true,
  },
  { id: "p90", title: "p90", value: (e) => e.latency_ms.p90, text: (e) => time(e.latency_ms.p90), unit: "ms", numeric: true },
  { id: "p99", title: "p99", value: (e) => e.latency_ms.p99, text: (e) => time(e.latency_ms.p99), unit: "ms", numeric: true },
  { id: "min", title: "Fastest", value: (e) => e.latency_ms.min, text: (e) => time(e.latency_ms.min), unit: "ms", numeric: true },
  { id: "runs", title: "Runs", value: (e) => e.latency_ms.n, numeric: true },
  { id: "load", title: "Load", value: (e) => e.load_ms, text: (e) => time(e.load_ms), unit: "ms", numeric: true },
  { id: "first", title: "First run", value: (e) => e.first_run_ms, text: (e) => time(e.first_run_ms), unit: "ms", numeric: true },
  {
    id: "memory",
    title: "Peak memory",
    value: (e) => e.peak_rss_bytes,
    text: (e) => bytes(e.peak_rss_bytes),
    unit: "B",
    numeric: true,
  },
  {
    id: "disturbed",
    title: "Disturbed bursts",
    hint: "their median lies outside Tukey's fences, or latency was not level before them; they are kept",
    value: (e) => e.disturbed_bursts,
    text: (e) => (e.bursts > 0 ? `${e.disturbed_bursts} of ${e.bursts}` : NONE),
    numeric: true,
  },
];

interface CostRow {
  name: string;
  what: string;
  before: string;
  after: string;
  row: Ratio;
  value: [number | null, number | null];
  unit: string; // of the values
}

// Of what a process needs, less is better, and not "faster".
function Cost({ row }: { row: Ratio }) {
  const { text, bounds } = change(row);
  return (
    <span class={`verdict ${row.verdict ?? "none"}`}>
      {text}
      {bounds && row.verdict !== "same" && <small> {bounds}</small>}
    </span>
  );
}

export function Summary({ report }: { report: Report }) {
  const costs = report.comparisons.flatMap((comparison) => {
    const rows: CostRow[] = [];
    const names = namesOf(report, comparison);
    const name = `${names.candidate} against ${names.baseline}`;
    const add = (what: string, row: Comparison["load"]) => {
      if (!row) return;
      const { baseline_ms: before, candidate_ms: after } = row;
      rows.push({ name, what, before: time(before), after: time(after), row, value: [before, after], unit: "ms" });
    };
    add("Load", comparison.load);
    add("First run", comparison.first_run);
    const memory = comparison.peak_memory;
    if (memory) {
      const { baseline_bytes: before, candidate_bytes: after } = memory;
      const row = { name, what: "Peak memory", before: bytes(before), after: bytes(after), row: memory };
      rows.push({ ...row, value: [before, after], unit: "B" });
    }
    return rows;
  });
  const unpaired = report.comparisons.filter((comparison) => sidesOf(report, comparison) === null);
  return (
    <>
      {report.comparisons.length <= kMostAnswers ? (
        report.comparisons.map((comparison) => (
          <Answer key={`${comparison.baseline} ${comparison.candidate}`} report={report} comparison={comparison} />
        ))
      ) : (
        <Section title="Comparisons" note={`${report.comparisons.length} pairs.`}>
          <DataTable rows={report.comparisons} columns={comparisonColumns(report)} name="comparisons" />
        </Section>
      )}
      {report.comparisons.length === 0 &&
        report.experiments.map((e) => (
          <div class="answer" key={`${e.label} ${e.threads}`}>
            <p class="headline">
              {e.label}: {time(e.latency_ms.p50)} at the median
              {e.latency_interval_ms &&
                ` [${time(e.latency_interval_ms.low)}, ${time(e.latency_interval_ms.high)}]`}
              .
            </p>
            <p class="quiet">
              {e.latency_from === "trace"
                ? "From traced runs: the tracer's own cost is in it."
                : `${e.latency_ms.n} untraced runs of ${e.launches} launches.`}
            </p>
            <Next insight={report.insights.find((insight) => insight.experiment === e.name)} />
          </div>
        ))}
      {unpaired.length > 0 && <p class="warning">A side of a comparison has no data of its own.</p>}
      <Section title="Latency" note="Steady runs. A curve further left is faster; a long flat end to the right is a slow tail, the far end of which the slider below brings into view.">
        <Latencies report={report} />
        <DataTable rows={report.experiments} columns={kExperiments} name="experiments" />
      </Section>
      <Bursts report={report} />
      {costs.length > 0 && (
        <Section title="Costs of a process" note="Beside its runs: what starting it takes, paired launch by launch.">
          <DataTable
            rows={costs}
            name="costs"
            columns={[
              { id: "what", title: "What", value: (r) => r.what },
              { id: "name", title: "Of", value: (r) => r.name, wide: true },
              { id: "before", title: "Before", value: (r) => r.value[0], text: (r) => r.before, numeric: true },
              { id: "after", title: "After", value: (r) => r.value[1], text: (r) => r.after, numeric: true, fields: [{ title: "After", value: (r) => r.value[1] }, { title: "Unit", value: (r) => r.unit }] },
              { id: "verdict", title: "Verdict", value: (r) => r.row.ratio, text: (r) => <Cost row={r.row} />, fields: verdictFields("Verdict", (r: CostRow) => r.row) },
            ]}
          />
        </Section>
      )}
    </>
  );
}
