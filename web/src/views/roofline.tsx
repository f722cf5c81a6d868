import type { EChartsCoreOption } from "echarts/core";
import { useMemo, useState } from "preact/hooks";
import { Chart } from "../chart";
import { colorOfName } from "../colors";
import { escapeHtml, bytes, count, digits, NONE, share, time, timesUpTo } from "../format";
import { Choice, Facts, Section } from "../parts";
import { type Experiment, type Report, type Roofline, findVariants } from "../report";
import { type Column, DataTable, useNarrow } from "../table";
import { useTheme } from "../theme";
import { counterparts } from "../timeline";
import { operatorAddress } from "./timeline";

// Formats a rate in `unit` per second, such as "12.3 GFLOP/s" or "1.20 GB/s".
export function rate(value: number, unit: string): string {
  const steps: [number, string][] = [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
  ];
  const [scale, prefix] = steps.find(([size]) => value >= size) ?? [1e3, "k"];
  return `${digits(value / scale)} ${prefix}${unit}/s`;
}

type Row = Roofline["rows"][number];
type Place = [number, number];

// Operators with MACs are drawn by arithmetic intensity and FLOP/s. Operators without MACs are drawn in a second chart, by
// bytes moved and bytes per second.
export const placeByWork = (row: Row): Place | null => (row.macs > 0 && (row.flops_per_byte ?? 0) > 0 ? [row.flops_per_byte as number, 2 * row.macs_per_s] : null);
export const placeByBytes = (row: Row): Place | null => (row.macs === 0 && row.bytes > 0 && row.bytes_per_s > 0 ? [row.bytes, row.bytes_per_s] : null);

// Returns the ceilings as lines (FLOP/s) between two intensities (FLOP per byte). Memory ceilings rise until they meet the
// highest compute ceiling. Compute ceilings are horizontal.
export function ceilingLines(roofline: Roofline, from: number, to: number): { name: string; line: [number, number][] }[] {
  const roofsOfKind = (kind: Roofline["roofs"][number]["kind"]) => roofline.roofs.filter((roof) => roof.kind === kind);
  const highest = Math.max(0, ...roofsOfKind("compute").map((roof) => 2 * roof.per_s));
  const fastest = Math.max(0, ...roofsOfKind("memory").map((roof) => roof.per_s));
  const memory = roofsOfKind("memory").map((roof) => {
    const end = Math.min(to, highest > 0 ? highest / roof.per_s : to);
    return { name: roof.name, line: [[from, from * roof.per_s], [end, end * roof.per_s]] as [number, number][] };
  });
  const compute = roofsOfKind("compute").map((roof) => {
    const flops = 2 * roof.per_s;
    return { name: roof.name, line: [[Math.max(from, fastest > 0 ? flops / fastest : from), flops], [to, flops]] as [number, number][] };
  });
  return [...memory, ...compute].filter(({ line: [a, b] }) => a && b && a[0] < b[0]);
}

const kCeilingColor = "#8a94a0";
const kMaxLabels = 5;
// ECharts reads braces in a label as a template.
const escapeLabel = (text: string): string => text.replace(/[{}]/g, "");

// Indices of the experiment that is shown and of the variant that it is compared with; null: no other variant.
interface Selection {
  report: Report;
  experiment: number;
  other: number | null;
}

interface Point {
  row: Row;
  group: string;
  value: Place;
}

function makePoints(experiment: Experiment | undefined, place: (row: Row) => Place | null): Point[] {
  const groups = new Map(experiment?.operators?.map((op) => [op.key, op.group]));
  return (experiment?.roofline?.rows ?? []).flatMap((row) => {
    const value = place(row);
    return value ? [{ row, group: groups.get(row.key) ?? "Other", value }] : [];
  });
}

// Returns the nearest powers of ten below and above all values.
function decades(values: number[]): [number, number] {
  return [10 ** Math.floor(Math.log10(Math.min(...values))), 10 ** Math.ceil(Math.log10(Math.max(...values)))];
}

// Returns the indices of the experiments that have a roofline and are compared with `experiment`.
export function otherVariants(report: Report, experiment: number): number[] {
  const self = report.experiments[experiment];
  const others = report.comparisons.flatMap((comparison) => {
    const variants = findVariants(report, comparison);
    return variants && self && variants.includes(self) ? variants.filter((variant) => variant !== self && variant.roofline) : [];
  });
  return [...new Set(others)].map((variant) => report.experiments.indexOf(variant));
}

// Points that would lie on each other share one label: "1–3, 5". `places` are in pixels, the longest operator first.
// Returns the text of the label of each point; "": the label of an earlier point names this point.
export function pointLabels(places: Place[]): string[] {
  const names = places.map((): number[] => []);
  places.forEach(([x, y], i) => {
    const near = places.findIndex(([left, top], n) => (n === i || names[n]?.[0]) && Math.abs(left - x) < kLabelWidth && Math.abs(top - y) < kLabelHeight);
    names[near]?.push(i + 1);
  });
  return names.map((numbers) => {
    const runs: [number, number][] = [];
    for (const number of numbers) {
      const last = runs[runs.length - 1];
      if (last && last[1] === number - 1) last[1] = number;
      else runs.push([number, number]);
    }
    return runs.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(", ");
  });
}
const [kLabelWidth, kLabelHeight] = [40, 16]; // px
const [kChartHeight, kPlotHeight] = [460, 340];
const plotWidth = (narrow: boolean): number => (narrow ? 250 : 900); // about; on wider screens, labels are further apart

// Draws operators as points. The slowest are numbered, and the numbers are explained below the chart.
function RooflineChart({ selection, place, lines, axes, unit, label }: {
  selection: Selection;
  place: (row: Row) => Place | null;
  lines: (from: number, to: number) => { name: string; line: Place[] }[];
  axes: { x: string; y: string; xText: (value: number) => string };
  unit: string; // the y axis shows this unit per second
  label: string;
}) {
  const theme = useTheme();
  const narrow = useNarrow();
  const { report, experiment, other } = selection;
  const points = useMemo(() => makePoints(report.experiments[experiment], place).sort((a, b) => b.row.time_ms - a.row.time_ms), [selection, place]);
  const option = useMemo<EChartsCoreOption | null>(() => {
    const otherPoints = makePoints(other === null ? undefined : report.experiments[other], place);
    if (points.length + otherPoints.length === 0) return null;
    const [from, to] = decades([...points, ...otherPoints].map((point) => point.value[0]));
    const ceilings = lines(from, to);
    const [bottom, top] = decades([...[...points, ...otherPoints].map((point) => point.value), ...ceilings.flatMap(({ line }) => line)].map((value) => value[1]));
    const inPlot = ([x, y]: Place): Place => [(plotWidth(narrow) * Math.log10(x / from)) / Math.log10(to / from), (kPlotHeight * Math.log10(y / bottom)) / Math.log10(top / bottom)];
    const numbered = points.slice(0, kMaxLabels);
    const labels = pointLabels(numbered.map((point) => inPlot(point.value)));
    const longest = Math.max(...[...points, ...otherPoints].map(({ row }) => row.time_ms));
    // The area of a point grows with its time.
    const symbolSize = ({ row }: Point) => 6 + 22 * Math.sqrt(row.time_ms / longest);
    const groups = [...new Set(points.map((point) => point.group))];
    const moves = numbered.flatMap((point) => {
      const key = other === null ? undefined : counterparts(report, experiment, point.row.key).get(other);
      const start = otherPoints.find(({ row }) => row.key === key);
      return start ? [{ point, line: [start.value, point.value] }] : [];
    });
    return {
      grid: { left: narrow ? 76 : 90, right: narrow ? 44 : 90, top: 60, bottom: kChartHeight - kPlotHeight - 60 },
      legend: { type: "scroll", data: [...groups, ...(other === null ? [] : [{ name: report.experiments[other]?.label ?? "", icon: "emptyCircle" }])] },
      tooltip: {
        trigger: "item",
        formatter: ({ data, seriesName }: { data: Partial<Point>; seriesName: string }) => {
          if (!data.row) return escapeHtml(seriesName);
          const { row } = data;
          const work = row.macs > 0 ? `${rate(2 * row.macs_per_s, "FLOP")}, ${digits(row.flops_per_byte as number)} FLOP/byte` : `${rate(row.bytes_per_s, "B")}, ${bytes(row.bytes)}`;
          return `${escapeHtml(row.name)}<br>${escapeHtml(seriesName)}<br>${time(row.time_ms)}, ${share(row.share_of_roof)} of its roofline<br>${work}`;
        },
      },
      xAxis: { type: "log", min: from, max: to, name: axes.x, nameLocation: "middle", nameGap: 30, axisLabel: { formatter: axes.xText } },
      yAxis: { type: "log", min: bottom, max: top, name: axes.y, axisLabel: { formatter: (v: number) => rate(v, unit) } },
      series: [
        ...ceilings.map(({ name, line }) => {
          const level = line[0]?.[1] === line[1]?.[1];
          const label = { show: true, position: level ? "right" : "insideBottomLeft", offset: level ? [0, 0] : [6, -8], formatter: escapeLabel(name), color: kCeilingColor };
          return {
            name,
            type: "line",
            // The name is at the end of a horizontal line, and at the beginning of a rising line.
            data: line.map((value, i) => ({ value, label: (i === 1) === level ? label : { show: false } })),
            symbol: "circle",
            symbolSize: 1,
            lineStyle: { color: kCeilingColor, width: 1.5 },
          };
        }),
        ...moves.map(({ point, line }) => ({
          name: `${point.row.name} in both variants`,
          type: "line",
          data: line,
          showSymbol: false,
          silent: true,
          lineStyle: { color: colorOfName(point.group, theme), width: 1, type: "dashed" },
        })),
        {
          name: other === null ? "" : (report.experiments[other]?.label ?? ""),
          type: "scatter",
          symbol: "circle",
          color: kCeilingColor,
          data: otherPoints.map((point) => ({ ...point, symbolSize: symbolSize(point), itemStyle: { color: "transparent", borderColor: colorOfName(point.group, theme), borderWidth: 1.5, opacity: 0.6 } })),
        },
        ...groups.map((group) => ({
          name: group,
          type: "scatter",
          color: colorOfName(group, theme),
          itemStyle: { opacity: 0.75 },
          // The largest points are drawn last, above the others.
          data: points.flatMap((point) => (point.group === group ? [{ ...point, symbolSize: symbolSize(point) }] : [])).reverse(),
        })),
        {
          name: "numbers of the largest",
          type: "scatter",
          silent: true,
          z: 5,
          itemStyle: { color: "transparent" },
          label: { show: true, position: "right", color: theme === "dark" ? "#e3e7eb" : "#1f2328", textBorderColor: theme === "dark" ? "#14181d" : "#ffffff", textBorderWidth: 3, fontWeight: 600 },
          data: numbered.flatMap((point, i) => (labels[i] ? [{ value: point.value, symbolSize: symbolSize(point), label: { formatter: labels[i] } }] : [])),
        },
      ],
    };
  }, [points, selection, place, theme, narrow]);
  if (!option) return null;
  return (
    <>
      <Chart option={option} height={kChartHeight} label={label} />
      <ol class="largest">
        {points.slice(0, kMaxLabels).map(({ row, group }) => (
          <li key={row.key}>
            <a href={operatorAddress(report, experiment, row.key)}>{row.name}</a>{" "}
            <span class="quiet">
              {group} · {time(row.time_ms)} · {share(row.share_of_roof)} of its roofline
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

const levelLines = (lines: { name: string; y: number }[]) => (from: number, to: number) => lines.map(({ name, y }) => ({ name, line: [[from, y], [to, y]] as Place[] }));

export function RooflineView({ report }: { report: Report }) {
  const withRoofline = report.experiments.flatMap((experiment, index) => (experiment.roofline ? [{ experiment, index, roofline: experiment.roofline }] : []));
  const [selectedIndex, setSelectedIndex] = useState(withRoofline.length - 1);
  const [comparedIndex, setComparedIndex] = useState(0); // index in `others`; past the last: no comparison
  const selected = withRoofline[selectedIndex];
  const others = useMemo(() => (selected ? otherVariants(report, selected.index) : []), [report, selected?.index]);
  const selection = useMemo<Selection>(() => ({ report, experiment: selected?.index ?? 0, other: others[comparedIndex] ?? null }), [report, selected?.index, others, comparedIndex]);
  if (!selected) return <p>Machine peaks were not measured (--no-peaks), or the work of the operators is unknown.</p>;
  const { experiment, roofline, index } = selected;
  const other = report.experiments[selection.other ?? -1]?.label;
  const groups = new Map(experiment.operators?.map((op) => [op.key, op.group]));
  const times = timesUpTo(Math.max(0, ...roofline.rows.map((row) => row.time_ms)));
  const timed = (id: string, title: string, ms: (row: Row) => number): Column<Row> => ({ id, title: `${title}, ${times.unit}`, heading: title, value: ms, text: (r) => times.text(ms(r)), unit: "ms", numeric: true });
  const columns: Column<Roofline["rows"][number]>[] = [
    { id: "name", title: "Operator", value: (r) => r.name },
    { ...timed("time", "Time", (r) => r.time_ms), narrowOrder: 0 },
    timed("roof", "Time at roofline", (r) => r.roof_ms),
    { ...timed("save", "Potential saving", (r) => r.would_save_ms), text: (r) => times.text(Math.max(0, r.would_save_ms)), narrowOrder: 0 },
    { id: "share", title: "% of roofline", heading: "Share of roofline", value: (r) => r.share_of_roof, text: (r) => share(r.share_of_roof), numeric: true, bar: (r) => Math.min(1, r.share_of_roof), narrowOrder: 0 },
    { id: "group", title: "Group", value: (r) => groups.get(r.key) ?? null },
    { id: "bound", title: "Bound by", value: (r) => (r.bound === "compute" ? `compute (${r.roof_dtype})` : "memory") },
    { id: "speed", title: "FLOP/s", value: (r) => 2 * r.macs_per_s, text: (r) => (r.macs > 0 ? rate(2 * r.macs_per_s, "FLOP") : NONE), numeric: true },
    { id: "traffic", title: "Bandwidth", value: (r) => r.bytes_per_s, text: (r) => rate(r.bytes_per_s, "B"), unit: "B/s", numeric: true },
    { id: "macs", title: "MACs", hint: "multiply-accumulates", value: (r) => r.macs, text: (r) => count(r.macs), numeric: true },
    { id: "bytes", title: "Bytes", hint: "each tensor moved once", value: (r) => r.bytes, text: (r) => bytes(r.bytes), unit: "B", numeric: true },
  ];
  return (
    <Section title={`Roofline of ${experiment.label}`} note={`How far each operator is from the machine's limits. A larger point takes more time. The further a point is below its roof, the larger its potential speedup. Colors are operator groups.${other ? ` Outlined points are ${other}.` : ""}`}>
      <div class="choices">
        <Choice label="Experiment" value={selectedIndex} options={withRoofline.map((entry, i) => ({ value: i, text: entry.experiment.label }))} onChange={(next) => {
          setSelectedIndex(next);
          setComparedIndex(0);
        }} />
        <Choice label="Compared with" value={Math.min(comparedIndex, others.length)} options={[...others.map((variant, i) => ({ value: i, text: report.experiments[variant]?.label ?? "" })), { value: others.length, text: "none" }]} onChange={setComparedIndex} />
      </div>
      <RooflineChart
        selection={selection}
        place={placeByWork}
        lines={(from, to) => ceilingLines(roofline, from, to)}
        axes={{ x: "Arithmetic intensity (FLOP/byte)", y: "FLOP/s", xText: String }}
        unit="FLOP"
        label={`Roofline of ${experiment.label}: FLOP/s of each operator by its arithmetic intensity, with the compute and memory roofs of the machine.${other ? ` Outlined: the same of ${other}.` : ""}`}
      />
      {roofline.rows.some(placeByBytes) && <h3>Operators without MACs</h3>}
      <RooflineChart
        selection={selection}
        place={placeByBytes}
        lines={levelLines(roofline.roofs.filter((roof) => roof.kind === "memory").map((roof) => ({ name: roof.name, y: roof.per_s })))}
        axes={{ x: "Bytes moved", y: "Bandwidth", xText: bytes }}
        unit="B"
        label={`Operators of ${experiment.label} without multiply-accumulates: bandwidth by the bytes that they move, with the memory roofs of the machine.`}
      />
      <Facts
        facts={[
          ["Modeled", `${time(roofline.covered_ms)} (${time(roofline.roof_ms)} at the rooflines)`],
          ["Not modeled", roofline.not_covered_ms > 0 ? `${time(roofline.not_covered_ms)} (operators with unknown work, without work, or without a roof)` : null],
          ...roofline.roofs.map((roof): [string, string] => [roof.name, roof.kind === "compute" ? rate(2 * roof.per_s, "FLOP") : rate(roof.per_s, "B")]),
        ]}
      />
      <DataTable
        rows={roofline.rows}
        columns={columns}
        name="roofline"
        sort={{ id: "save", descending: true }}
        onRow={(row) => {
          location.hash = operatorAddress(report, index, row.key);
        }}
      />
    </Section>
  );
}
