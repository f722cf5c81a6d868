import type { EChartsCoreOption } from "echarts/core";
import { useMemo } from "preact/hooks";
import { Chart } from "../chart";
import { bytes, factor, interval, NONE, type Ratio, share, time, told, verdict } from "../format";
import { Section, VerdictText } from "../parts";
import { type Comparison, type Experiment, type Report, sidesOf } from "../report";
import { href } from "../route";
import { type Column, DataTable } from "../table";

// "avx on is 2.00x faster than avx off: 8.45 ms -> 4.02 ms."
export function answer(comparison: Comparison): string {
  const { latency, baseline, candidate } = comparison;
  const times = `${time(latency.baseline_ms)} → ${time(latency.candidate_ms)}`;
  switch (latency.verdict) {
    case "faster":
    case "slower":
      return `${candidate} is ${verdict(latency)} than ${baseline}: ${times}.`;
    case "same":
      return `${candidate} is as fast as ${baseline}: ${times}.`;
    case "inconclusive":
      return `${candidate} against ${baseline} is undecided: ${times}.`;
    case "emulated":
      return `${candidate} and ${baseline} ran on an emulated CPU: their times mean nothing.`;
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

function sentence(clause: string): string {
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
}

function Answer({ report, comparison }: { report: Report; comparison: Comparison }) {
  const next = report.insights.find((insight) => insight.experiment === comparison.candidate_experiment);
  return (
    <div class="answer">
      <p class={`headline ${comparison.latency.verdict ?? ""}`}>{answer(comparison)}</p>
      <p>{sureness(comparison)}</p>
      {comparison.outputs && <p class="quiet">{sentence(comparison.outputs.note)}</p>}
      {next && (
        <p>
          <b>What next:</b> {next.text} <a href={href("insights")}>All insights</a>
        </p>
      )}
      {comparison.warnings.map((warning) => (
        <p key={warning} class="warning">
          {warning}
        </p>
      ))}
    </div>
  );
}

const kExperiments: Column<Experiment>[] = [
  { id: "label", title: "Experiment", value: (e) => e.label },
  { id: "threads", title: "Threads", value: (e) => e.threads, numeric: true },
  { id: "median", title: "Median", value: (e) => e.latency_ms.p50, text: (e) => time(e.latency_ms.p50), numeric: true },
  {
    id: "interval",
    title: "Interval of the median",
    hint: "over launches",
    value: (e) => e.latency_interval_ms?.low ?? null,
    text: (e) =>
      e.latency_interval_ms ? `[${time(e.latency_interval_ms.low)}, ${time(e.latency_interval_ms.high)}]` : NONE,
    numeric: true,
  },
  { id: "p90", title: "p90", value: (e) => e.latency_ms.p90, text: (e) => time(e.latency_ms.p90), numeric: true },
  { id: "p99", title: "p99", value: (e) => e.latency_ms.p99, text: (e) => time(e.latency_ms.p99), numeric: true },
  { id: "min", title: "Fastest", value: (e) => e.latency_ms.min, text: (e) => time(e.latency_ms.min), numeric: true },
  { id: "runs", title: "Runs", value: (e) => e.latency_ms.n, numeric: true },
  { id: "load", title: "Load", value: (e) => e.load_ms, text: (e) => time(e.load_ms), numeric: true },
  { id: "first", title: "First run", value: (e) => e.first_run_ms, text: (e) => time(e.first_run_ms), numeric: true },
  {
    id: "memory",
    title: "Peak memory",
    value: (e) => e.peak_rss_bytes,
    text: (e) => bytes(e.peak_rss_bytes),
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

function Latencies({ report }: { report: Report }) {
  const option = useMemo<EChartsCoreOption>(() => {
    const shown = report.experiments.filter((e) => e.latency_ecdf && e.latency_ecdf.ms.length > 0);
    const fastest = Math.min(...shown.map((e) => e.latency_ms.min ?? 0));
    return {
      grid: { left: 60, right: 20, top: 40, bottom: 70 },
      legend: { type: "scroll" },
      tooltip: { trigger: "axis", valueFormatter: (value: unknown) => share(value as number) },
      xAxis: { type: "value", name: "latency, ms", nameLocation: "middle", nameGap: 28, min: Math.floor(fastest * 0.95 * 10) / 10, axisLabel: { showMinLabel: false } },
      yAxis: { type: "value", name: "share of runs", min: 0, max: 1, axisLabel: { formatter: (v: number) => share(v) } },
      dataZoom: [
        { type: "inside", filterMode: "none" },
        { type: "slider", filterMode: "none", height: 18, bottom: 8, labelFormatter: (v: number) => time(v) },
      ],
      series: shown.map((e) => ({
        name: e.label,
        type: "line",
        step: "end",
        showSymbol: false,
        data: e.latency_ecdf?.ms.map((ms, i) => [ms, e.latency_ecdf?.share[i]]),
      })),
    };
  }, [report]);
  return (
    <Chart
      option={option}
      height={320}
      label={`Empirical distribution of the latency of ${report.experiments.length} experiments: the share of runs that take at most so long.`}
    />
  );
}

interface CostRow {
  name: string;
  what: string;
  before: string;
  after: string;
  row: Ratio;
  value: [number | null, number | null];
}

// Of what a process needs, less is better, and not "faster".
function Cost({ row }: { row: Ratio }) {
  const words = { faster: "less", slower: "more" } as Record<string, string>;
  const known = row.verdict === "faster" || row.verdict === "slower";
  const bounds = interval(row);
  if (!known) return <VerdictText row={row} />;
  return (
    <span class={`verdict ${row.verdict}`}>
      {factor(told(row).ratio)} {words[row.verdict ?? ""]} <small>{bounds}</small>
    </span>
  );
}

export function Summary({ report }: { report: Report }) {
  const costs = report.comparisons.flatMap((comparison) => {
    const rows: CostRow[] = [];
    const name = `${comparison.candidate} against ${comparison.baseline}`;
    const add = (what: string, row: Comparison["load"]) => {
      if (!row) return;
      const { baseline_ms: before, candidate_ms: after } = row;
      rows.push({ name, what, before: time(before), after: time(after), row, value: [before, after] });
    };
    add("Load", comparison.load);
    add("First run", comparison.first_run);
    const memory = comparison.peak_memory;
    if (memory) {
      const { baseline_bytes: before, candidate_bytes: after } = memory;
      const row = { name, what: "Peak memory", before: bytes(before), after: bytes(after), row: memory };
      rows.push({ ...row, value: [before, after] });
    }
    return rows;
  });
  const unpaired = report.comparisons.filter((comparison) => sidesOf(report, comparison) === null);
  return (
    <>
      {report.comparisons.map((comparison) => (
        <Answer key={`${comparison.baseline} ${comparison.candidate}`} report={report} comparison={comparison} />
      ))}
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
          </div>
        ))}
      {unpaired.length > 0 && <p class="warning">A side of a comparison has no data of its own.</p>}
      <Section title="Latency" note="Steady runs. A curve further left is faster; a long flat end to the right is a slow tail.">
        <Latencies report={report} />
        <DataTable rows={report.experiments} columns={kExperiments} name="experiments" />
      </Section>
      {costs.length > 0 && (
        <Section title="Costs of a process" note="Beside its runs: what starting it takes, paired launch by launch.">
          <DataTable
            rows={costs}
            name="costs"
            columns={[
              { id: "what", title: "What", value: (r) => r.what },
              { id: "name", title: "Of", value: (r) => r.name, wide: true },
              { id: "before", title: "Before", value: (r) => r.value[0], text: (r) => r.before, numeric: true },
              { id: "after", title: "After", value: (r) => r.value[1], text: (r) => r.after, numeric: true },
              { id: "verdict", title: "Verdict", value: (r) => r.row.ratio, text: (r) => <Cost row={r.row} /> },
            ]}
          />
        </Section>
      )}
    </>
  );
}
