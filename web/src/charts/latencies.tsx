import type { EChartsCoreOption } from "echarts/core";
import { useMemo } from "preact/hooks";
import { Chart, kColors } from "../chart";
import { axisTimesUpTo, escapeHtml, NONE, share, time } from "../format";
import type { Experiment, Report } from "../report";
import { type Column, DataTable } from "../table";

// Line styles distinguish experiments that share a color.
const kDashes = ["solid", "dashed", "dotted"];

// Returns the initial range of the latency chart (`start` to `end`) and the end of its axis (`last`), ms. The range starts
// just below the fastest run, rounded to a tenth of its power of ten, so it suits microseconds as well as seconds. The axis
// ends where the initial range would be less than kMinSliderShare of the slider, so that its handles stay apart.
const kMinSliderShare = 0.05;
export function latencyRange(fastest: number, p90: number, slowest: number): { start: number; end: number; last: number } {
  const mark = fastest > 0 ? 10 ** (Math.floor(Math.log10(fastest)) - 1) : 1;
  const start = Math.floor((fastest * 0.95) / mark) * mark;
  const end = Math.max(Math.min(slowest, 1.6 * p90), start + mark);
  return { start, end, last: Math.max(end, Math.min(slowest, start + (end - start) / kMinSliderShare)) };
}

// The points of a stepped curve: the share of runs that take at most a given time. The curve rises from 0 at the fastest run,
// so that runs that all take equally long have one, too.
export function latencyCurve({ ms, share }: Experiment["latency_ecdf"]): (number | undefined)[][] {
  return [[ms[0], 0], ...ms.map((time, i) => [time, share[i]])];
}

// Draws the empirical distribution of latencies: the share of runs that take at most a given time.
function Latencies({ report }: { report: Report }) {
  const experiments = report.experiments.filter((e) => e.latency_ecdf.ms.length > 0);
  const fastest = Math.min(...experiments.map((e) => e.latency_ms.min ?? 0));
  const slowest = Math.max(...experiments.map((e) => e.latency_ms.max ?? 0));
  // The initial range omits the far end of the tail, which would leave no room for the rest.
  const slowestP90 = Math.max(...experiments.map((e) => e.latency_ms.p90 ?? slowest));
  const { start, end, last } = latencyRange(fastest, slowestP90, slowest);
  const option = useMemo<EChartsCoreOption>(() => {
    const axisTime = axisTimesUpTo(end);
    return {
      grid: { left: 60, right: 20, top: 56, bottom: 70 },
      legend: { type: "scroll" },
      tooltip: { trigger: "axis", valueFormatter: (value: unknown) => share(value as number) },
      xAxis: { type: "value", name: "latency", nameLocation: "middle", nameGap: 28, min: start, max: last, axisLabel: { showMinLabel: false, showMaxLabel: false, formatter: axisTime } },
      yAxis: { type: "value", name: "share of runs", min: 0, max: 1, axisLabel: { formatter: (v: number) => share(v) } },
      dataZoom: [
        { type: "inside", filterMode: "none", startValue: start, endValue: end },
        { type: "slider", filterMode: "none", height: 18, bottom: 8, labelFormatter: (v: number) => time(v) },
      ],
      series: experiments.map((e, i) => ({
        name: e.label,
        type: "line",
        step: "end",
        lineStyle: { type: kDashes[Math.floor(i / kColors.light.length) % kDashes.length] },
        showSymbol: false,
        data: latencyCurve(e.latency_ecdf),
      })),
    };
  }, [report]);
  return (
    <>
      <Chart
        option={option}
        height={320}
        label={`Empirical distribution of the latency of ${experiments.length === 1 ? "one experiment" : `${experiments.length} experiments`}: the share of runs that take at most a given time.`}
      />
      {last < slowest && (
        <p class="quiet">
          The axis ends at {time(last)}; the slowest run took {time(slowest)}.
        </p>
      )}
    </>
  );
}

// A burst of an experiment: a point of the chart and a row of the table.
interface BurstRow {
  experiment: string;
  launch: number;
  round: number;
  seconds: number | null;
  median: number;
  marks: string; // "", "disturbed", "throttled", or both
  mhz: number | null;
  celsius: number | null;
}

function burstRows(e: Experiment): BurstRow[] {
  const b = e.burst_medians;
  return b.median_ms.map((median, i) => ({
    experiment: e.label,
    launch: b.launch[i] ?? 0,
    round: b.round[i] ?? 0,
    seconds: b.seconds[i] ?? null,
    median,
    marks: [b.disturbed[i] ? "disturbed" : "", b.throttled[i] ? "throttled" : ""].filter(Boolean).join(", "),
    mhz: b.frequency_mhz[i] ?? null,
    celsius: b.temperature_c[i] ?? null,
  }));
}

const kBurstColumns: Column<BurstRow>[] = [
  { id: "experiment", title: "Experiment", value: (r) => r.experiment },
  { id: "launch", title: "Launch", value: (r) => r.launch, numeric: true },
  { id: "round", title: "Round", value: (r) => r.round, numeric: true },
  { id: "seconds", title: "At", hint: "seconds since the first burst", value: (r) => r.seconds, text: (r) => (r.seconds === null ? NONE : `${r.seconds.toFixed(1)} s`), unit: "s", numeric: true },
  { id: "median", title: "Median", value: (r) => r.median, text: (r) => time(r.median), unit: "ms", numeric: true },
  { id: "marks", title: "Marks", value: (r) => r.marks },
  { id: "mhz", title: "Clock", value: (r) => r.mhz, text: (r) => (r.mhz === null ? NONE : `${r.mhz.toFixed(0)} MHz`), unit: "MHz", numeric: true },
  { id: "celsius", title: "Temperature", value: (r) => r.celsius, text: (r) => (r.celsius === null ? NONE : `${r.celsius.toFixed(0)} °C`), unit: "°C", numeric: true },
];

function Bursts({ report }: { report: Report }) {
  const rows = useMemo(() => report.experiments.map(burstRows), [report]);
  const allRows = useMemo(() => rows.flat(), [rows]);
  const hasTimes = allRows.every((row) => row.seconds !== null);
  const option = useMemo<EChartsCoreOption>(
    () => ({
      grid: { left: 80, right: 20, top: 40, bottom: 70 },
      legend: { type: "scroll" },
      tooltip: {
        trigger: "item",
        formatter: (point: { seriesIndex: number; dataIndex: number }) => {
          const row = rows[point.seriesIndex]?.[point.dataIndex];
          if (!row) return "";
          return `${escapeHtml(row.experiment)}, launch ${row.launch}, round ${row.round}<br>${time(row.median)}${row.marks ? `<br>${row.marks}` : ""}`;
        },
      },
      xAxis: { type: "value", name: hasTimes ? "seconds since the first burst" : "burst", nameLocation: "middle", nameGap: 28, max: "dataMax", axisLabel: { showMaxLabel: false } },
      yAxis: { type: "value", scale: true, axisLabel: { formatter: axisTimesUpTo(allRows.reduce((longest, row) => Math.max(longest, row.median), 0)) } },
      dataZoom: [
        { type: "inside", filterMode: "none" },
        { type: "slider", filterMode: "none", height: 18, bottom: 8, labelFormatter: (v: number) => (hasTimes ? `${v.toFixed(1)} s` : v.toFixed(0)) },
      ],
      series: report.experiments.map((e, i) => ({
        name: e.label,
        type: "scatter",
        symbolSize: 7,
        data: rows[i]?.map((row, n) => ({
          value: [hasTimes ? row.seconds : n, row.median],
          symbol: row.marks.includes("throttled") ? "diamond" : row.marks ? "emptyTriangle" : "circle",
          symbolSize: row.marks ? 11 : 6,
        })),
      })),
    }),
    [report, rows, hasTimes],
  );
  if (allRows.length === 0) return null;
  return (
    <>
      <h3>Bursts</h3>
      <p class="quiet">
        Median latency of each burst over time. △ disturbed (an outlier, one that did not stabilize, or one without a clean run), ◆ throttled. Both are included.
      </p>
      <Chart option={option} height={300} label={`Median latency of each of ${allRows.length} bursts over time.`} />
      <details class="folded-on-paper">
        <summary>As a table</summary>
        <DataTable rows={allRows} columns={kBurstColumns} name="bursts" />
      </details>
    </>
  );
}

export function LatencyCharts({ report }: { report: Report }) {
  if (report.experiments.every((e) => e.latency_ecdf.ms.length === 0)) return null;
  return (
    <>
      <p class="quiet">Steady-state runs. A curve further left is faster. A long flat end to the right is a slow tail; the slider below the chart shows its far end.</p>
      <Latencies report={report} />
      <Bursts report={report} />
    </>
  );
}
