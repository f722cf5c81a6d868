import type { EChartsCoreOption } from "echarts/core";
import { useMemo, useState } from "preact/hooks";
import { Chart } from "../chart";
import { colorOfName } from "../colors";
import { axisTimesUpTo, escapeHtml, share, time } from "../format";
import { Choice, ComparisonChoice } from "../parts";
import type { Breakdown, Comparison, Delta, Experiment, Report } from "../report";
import { type Theme, useTheme } from "../theme";

export type By = "groups" | "categories";

interface StackRow {
  name: string;
  values: (number | null)[]; // mean self time by experiment, ms
  shares: (number | null)[];
}

// Returns the rows of all experiments' breakdowns, in the order in which they first appear.
export function stackRows(experiments: Experiment[], by: By): StackRow[] {
  const names: string[] = [];
  const rowsOf = (e: Experiment): Breakdown["rows"] => e[by]?.rows ?? [];
  for (const e of experiments) {
    for (const row of rowsOf(e)) if (!names.includes(row.name)) names.push(row.name);
  }
  const rows = names.map((name) => {
    const experimentRows = experiments.map((e) => rowsOf(e).find((row) => row.name === name) ?? null);
    return { name, values: experimentRows.map((r) => r?.mean_ms ?? null), shares: experimentRows.map((r) => r?.share ?? null) };
  });
  return rows.filter((row) => row.values.some((value) => value !== null && value !== 0));
}

function Stacked({ report, by, relative }: { report: Report; by: By; relative: boolean }) {
  const experiments = report.experiments.filter((e) => e[by]);
  const theme = useTheme();
  const option = useMemo<EChartsCoreOption>(() => {
    const rows = stackRows(experiments, by);
    const axisTime = axisTimesUpTo(Math.max(0, ...experiments.map((_, i) => rows.reduce((sum, row) => sum + (row.values[i] ?? 0), 0))));
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
        axisLabel: { formatter: (v: number) => (relative ? share(v) : axisTime(v)) },
      },
      yAxis: {
        type: "category",
        inverse: true,
        data: experiments.map((e) => e.label),
        axisLabel: { width: 160, overflow: "truncate" },
      },
      series: rows.map((row) => ({
        name: row.name,
        type: "bar",
        stack: "all",
        barMaxWidth: 34,
        itemStyle: { color: colorOfName(row.name, theme) },
        data: relative ? row.shares : row.values,
      })),
    };
  }, [report, by, relative, theme]);
  return (
    <Chart
      option={option}
      height={110 + 44 * experiments.length}
      label={`Mean self time of each ${by === "groups" ? "group" : "category"} in ${experiments.length} experiments${relative ? ", as a share" : ""}.`}
    />
  );
}

interface Step {
  name: string;
  delta: number; // ms; below 0: faster
  verdict: Delta["verdict"];
}

// Returns what each row contributes to the difference between baseline and candidate. The contributions add up to the
// difference of the whole. Rows without a difference are omitted.
export function steps(comparison: Comparison, by: By): Step[] {
  return comparison[by]
    .filter((row) => row.delta_numerator_ns !== 0)
    .map((row) => ({ name: row.name, delta: row.delta_numerator_ns / comparison.delta_denominator / 1e6, verdict: row.verdict }));
}

// Only significant changes have the color of their verdict. A row that is inconclusive or contended is pale gray.
const kStepColors: Record<Theme, Record<"total" | "faster" | "slower" | "unclear", string>> = {
  light: { total: "#6b7785", faster: "#1f8a4c", slower: "#c4432b", unclear: "#b9c1ca" },
  dark: { total: "#8a94a0", faster: "#2f9e62", slower: "#d9604a", unclear: "#4b545f" },
};
export function stepColor(kind: string | null, theme: Theme): string {
  const colors = kStepColors[theme];
  return kind === "total" || kind === "faster" || kind === "slower" ? colors[kind] : colors.unclear;
}

function Waterfall({ comparison, by }: { comparison: Comparison; by: By }) {
  const theme = useTheme();
  const option = useMemo<EChartsCoreOption>(() => {
    const sortedSteps = steps(comparison, by).sort((a, b) => a.delta - b.delta);
    let level = baselineMean(comparison);
    const bars: { name: string; from: number; to: number; kind: string | null }[] = [
      { name: comparison.baseline, from: 0, to: level, kind: "total" },
    ];
    for (const step of sortedSteps) {
      bars.push({ name: step.name, from: level, to: level + step.delta, kind: step.verdict });
      level += step.delta;
    }
    bars.push({ name: comparison.candidate, from: 0, to: level, kind: "total" });
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
          const text = bar.kind === "total" ? time(bar.to) : `${change < 0 ? "−" : "+"}${time(Math.abs(change))}${bar.kind ? `, ${bar.kind}` : ""}`;
          return `${escapeHtml(bar.name)}: ${text}`;
        },
      },
      xAxis: { type: "value", axisLabel: { formatter: axisTimesUpTo(Math.max(...bars.map((bar) => bar.to))) } },
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
            itemStyle: { color: stepColor(bar.kind, theme) },
          })),
        },
      ],
    };
  }, [comparison, by, theme]);
  return (
    <Chart
      option={option}
      height={60 + 28 * (steps(comparison, by).length + 2)}
      label={`From ${comparison.baseline} to ${comparison.candidate}: what each ${by === "groups" ? "group" : "category"} adds to the mean of Method::execute or takes from it.`}
    />
  );
}

// Returns the baseline's mean time of Method::execute, ms.
export function baselineMean(comparison: Comparison): number {
  return comparison.whole.baseline_total_ns / comparison.baseline_runs / 1e6;
}

// Shows the time of every experiment by group or category, and how each of them contributes to a pair's difference.
export function Breakdown({ report }: { report: Report }) {
  const [by, setBy] = useState<By>("groups");
  const [relative, setRelative] = useState(false);
  const [pair, setPair] = useState(0);
  const comparison = report.comparisons[pair];
  return (
    <>
      <div class="choices">
        <Choice label="By" value={by} options={[{ value: "groups", text: "group" }, { value: "categories", text: "category" }]} onChange={setBy} />
        <Choice label="As" value={relative ? "share" : "time"} options={[{ value: "time", text: "time" }, { value: "share", text: "share of the whole" }]} onChange={(value) => setRelative(value === "share")} />
      </div>
      <Stacked report={report} by={by} relative={relative} />
      {comparison && (
        <>
          <h3>
            From {comparison.baseline} to {comparison.candidate}
          </h3>
          <ComparisonChoice report={report} value={pair} onChange={setPair} />
          <Waterfall comparison={comparison} by={by} />
          <p class="quiet">Green and red changes are significant. Changes that are inconclusive or contended are pale gray.</p>
        </>
      )}
    </>
  );
}
