import type { EChartsCoreOption } from "echarts/core";
import { useMemo, useState } from "preact/hooks";
import { Chart } from "../chart";
import { colourOfName } from "../colours";
import { NONE, share, time } from "../format";
import { Choice, ComparisonChoice, Section, VerdictText } from "../parts";
import type { Breakdown, Comparison, ComparisonRow, Experiment, Report } from "../report";
import { setQuery, useRoute } from "../route";
import { useTheme } from "../theme";
import { type Column, DataTable, verdictFields } from "../table";

type By = "groups" | "categories";

export interface StackRow {
  name: string;
  values: (number | null)[]; // by experiment, ms (mean self time)
  shares: (number | null)[];
}

// The rows of every experiment's breakdown, in the order of the first that has them.
export function stack(experiments: Experiment[], by: By): StackRow[] {
  const names: string[] = [];
  const of = (e: Experiment): Breakdown | null => e[by];
  for (const e of experiments) {
    for (const row of of(e)?.rows ?? []) if (!names.includes(row.name)) names.push(row.name);
  }
  const rows = names.map((name) => {
    const found = experiments.map((e) => of(e)?.rows.find((row) => row.name === name) ?? null);
    return { name, values: found.map((r) => r?.mean_ms ?? null), shares: found.map((r) => r?.share ?? null) };
  });
  return rows.filter((row) => row.values.some((value) => value !== null && value !== 0));
}

// What leads from the mean of the traced runs to the median of the others, below the rows that add up to it.
function Rest({ experiments }: { experiments: Experiment[] }) {
  const line = (name: string, of: (e: Experiment) => number | null, hint: string) => (
    <tr>
      <th scope="row" title={hint}>
        {name}
      </th>
      {experiments.flatMap((e) => [
        <td key={`${e.label} ${e.threads}`} class="number">
          {time(of(e))}
        </td>,
        <td key={`${e.label} ${e.threads} share`} />,
      ])}
    </tr>
  );
  return (
    <tfoot>
      {line("Method::execute", (e) => e.mean_execute_ms, "the mean of traced steady runs: what the rows add up to")}
      {experiments.some((e) => e.tracer_ms !== null) && (
        <>
          {line("Tracer", (e) => e.tracer_ms, "from that mean to the median of untraced runs; below 0: untraced runs are shorter")}
          {line("Median latency", (e) => e.latency_ms.p50, "of untraced steady runs")}
        </>
      )}
    </tfoot>
  );
}

function Stacked({ report, by, relative }: { report: Report; by: By; relative: boolean }) {
  const shown = report.experiments.filter((e) => e[by]);
  const theme = useTheme();
  const option = useMemo<EChartsCoreOption>(() => {
    const rows = stack(shown, by);
    return {
      grid: { left: 10, right: 30, top: 60, bottom: 30, containLabel: true },
      legend: { type: "scroll" },
      tooltip: {
        trigger: "item",
        valueFormatter: (value: unknown) => (relative ? share(value as number) : time(value as number)),
      },
      xAxis: {
        type: "value",
        max: relative ? 1 : undefined,
        axisLabel: { formatter: (v: number) => (relative ? share(v) : time(v)) },
      },
      yAxis: {
        type: "category",
        inverse: true,
        data: shown.map((e) => e.label),
        axisLabel: { width: 160, overflow: "truncate" },
      },
      series: rows.map((row) => ({
        name: row.name,
        type: "bar",
        stack: "all",
        barMaxWidth: 34,
        itemStyle: { color: colourOfName(row.name, theme) },
        data: relative ? row.shares : row.values,
      })),
    };
  }, [report, by, relative, theme]);
  return (
    <Chart
      option={option}
      height={110 + 44 * shown.length}
      label={`Mean self time of each ${by === "groups" ? "group" : "category"} in ${shown.length} experiments${relative ? ", as a share" : ""}.`}
    />
  );
}

export interface Step {
  name: string;
  before: number | null; // ms
  after: number | null;
  delta: number; // ms; below 0: faster
  row: ComparisonRow;
}

// What each row adds to the difference between the two sides; together they are the whole's. What took no time on
// either side adds nothing, and is left out.
export function steps(comparison: Comparison, by: By): Step[] {
  const timed = comparison[by].filter((row) => row.baseline_ms || row.candidate_ms || row.delta_numerator_ns !== 0);
  return timed.map((row) => ({
    name: row.name,
    before: row.baseline_ms,
    after: row.candidate_ms,
    delta: row.delta_numerator_ns / comparison.delta_denominator / 1e6,
    row,
  }));
}

function Waterfall({ comparison, by }: { comparison: Comparison; by: By }) {
  const option = useMemo<EChartsCoreOption>(() => {
    const all = steps(comparison, by).filter((step) => step.delta !== 0);
    all.sort((a, b) => a.delta - b.delta);
    let level = meanOf(comparison);
    const bars: { name: string; from: number; to: number; kind: string }[] = [
      { name: comparison.baseline, from: 0, to: level, kind: "total" },
    ];
    for (const step of all) {
      bars.push({ name: step.name, from: level, to: level + step.delta, kind: step.delta < 0 ? "gain" : "loss" });
      level += step.delta;
    }
    bars.push({ name: comparison.candidate, from: 0, to: level, kind: "total" });
    const colour: Record<string, string> = { total: "#6b7785", gain: "#1f8a4c", loss: "#c4432b" };
    return {
      grid: { left: 10, right: 30, top: 20, bottom: 20, containLabel: true },
      legend: { show: false },
      tooltip: {
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: (points: { dataIndex: number }[]) => {
          const bar = bars[points[0]?.dataIndex ?? 0];
          if (!bar) return "";
          const change = bar.to - bar.from;
          const text = bar.kind === "total" ? time(bar.to) : `${change < 0 ? "−" : "+"}${time(Math.abs(change))}`;
          return `${escapeHtml(bar.name)}: ${text}`;
        },
      },
      xAxis: { type: "value", axisLabel: { formatter: (v: number) => time(v) } },
      yAxis: { type: "category", inverse: true, data: bars.map((bar) => bar.name) },
      series: [
        {
          type: "bar",
          stack: "all",
          silent: true,
          itemStyle: { color: "transparent" },
          data: bars.map((bar) => Math.min(bar.from, bar.to)),
        },
        {
          type: "bar",
          stack: "all",
          barMaxWidth: 24,
          data: bars.map((bar) => ({
            value: Math.abs(bar.to - bar.from),
            itemStyle: { color: colour[bar.kind] },
          })),
        },
      ],
    };
  }, [comparison, by]);
  return (
    <Chart
      option={option}
      height={60 + 28 * (steps(comparison, by).length + 2)}
      label={`From ${comparison.baseline} to ${comparison.candidate}: what each group adds to the mean of Method::execute or takes from it.`}
    />
  );
}

// The mean of Method::execute of the baseline, in ms.
export function meanOf(comparison: Comparison): number {
  return comparison.whole.baseline_total_ns / comparison.baseline_runs / 1e6;
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

const kSteps: Column<Step>[] = [
  { id: "name", title: "Where", value: (s) => s.name },
  { id: "before", title: "Before", value: (s) => s.before, text: (s) => time(s.before), unit: "ms", numeric: true },
  { id: "after", title: "After", value: (s) => s.after, text: (s) => time(s.after), unit: "ms", numeric: true },
  {
    id: "delta",
    title: "Difference",
    hint: "of the means; all of them add up to the difference of Method::execute",
    value: (s) => s.delta,
    text: (s) => (s.delta === 0 ? NONE : `${s.delta < 0 ? "−" : "+"}${time(Math.abs(s.delta))}`),
    unit: "ms",
    numeric: true,
  },
  { id: "verdict", title: "Verdict", value: (s) => s.row.ratio, text: (s) => <VerdictText row={s.row} />, fields: verdictFields("Verdict", (s) => s.row) },
];

export function Where({ report }: { report: Report }) {
  const { query } = useRoute();
  const by: By = query.get("by") === "categories" ? "categories" : "groups";
  const relative = query.get("share") === "1";
  const [pair, setPair] = useState(0);
  const comparison = report.comparisons[pair];
  const experiments = report.experiments.filter((e) => e[by]);
  if (experiments.length === 0) return <p>No experiment has a trace.</p>;
  const columns: Column<StackRow>[] = [
    { id: "name", title: by === "groups" ? "Group" : "Category", value: (row) => row.name },
    ...experiments.flatMap((e, i): Column<StackRow>[] => [
      { id: `ms${i}`, title: e.label, value: (r) => r.values[i] ?? null, text: (r) => time(r.values[i]), unit: "ms", numeric: true },
      {
        id: `share${i}`,
        title: "share",
        heading: `${e.label}: share`,
        value: (r) => r.shares[i] ?? null,
        text: (r) => share(r.shares[i]),
        numeric: true,
        bar: (r) => r.shares[i] ?? null,
      },
    ]),
  ];
  return (
    <>
      <div class="choices">
        <Choice
          label="By"
          value={by}
          options={[
            { value: "groups", text: "group" },
            { value: "categories", text: "category" },
          ]}
          onChange={(value) => setQuery("by", value === "groups" ? undefined : value)}
        />
        <Choice
          label="As"
          value={relative ? "share" : "time"}
          options={[
            { value: "time", text: "time" },
            { value: "share", text: "share of the whole" },
          ]}
          onChange={(value) => setQuery("share", value === "share" ? "1" : undefined)}
        />
      </div>
      <Section
        title="Where the time goes"
        note="Mean self time of traced steady runs: an operator's time less that of what it calls. The parts add up to the whole."
      >
        <Stacked report={report} by={by} relative={relative} />
        <DataTable rows={stack(experiments, by)} columns={columns} name="where the time goes" total={<Rest experiments={experiments} />} />
      </Section>
      {comparison && (
        <Section
          title={`From ${comparison.baseline} to ${comparison.candidate}`}
          note="What each part adds to the difference of the means, or takes from it."
        >
          <ComparisonChoice report={report} value={pair} onChange={setPair} />
          <Waterfall comparison={comparison} by={by} />
          <DataTable
            rows={steps(comparison, by)}
            columns={kSteps}
            name="difference"
            sort={{ id: "delta", descending: false }}
          />
        </Section>
      )}
    </>
  );
}
