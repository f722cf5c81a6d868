import type { EChartsCoreOption } from "echarts/core";
import { useMemo, useState } from "preact/hooks";
import { Chart } from "../chart";
import { escapeHtml, bytes, count, digits, NONE, share, time } from "../format";
import { Choice, Facts, Section } from "../parts";
import type { Experiment, Report, Roofline } from "../report";
import { type Column, DataTable } from "../table";
import { operatorAddress } from "./timeline";

// "12.3 GFLOP/s", "1.20 GB/s": `unit` per second.
export function rate(value: number, unit: string): string {
  const steps: [number, string][] = [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
  ];
  const [scale, prefix] = steps.find(([size]) => value >= size) ?? [1e3, "k"];
  return `${digits(value / scale)} ${prefix}${unit}/s`;
}

// What the picture shows of: an operator that computes nothing has no place on a logarithmic axis.
export function points(roofline: Roofline): Roofline["rows"][number][] {
  return roofline.rows.filter((row) => row.macs > 0 && row.flops_per_byte !== null && row.flops_per_byte > 0);
}

// The roofs as lines between two intensities (FLOPs a byte): memory's rise until they meet the highest of
// computing, which are level. FLOP/s.
export function roofs(roofline: Roofline, from: number, to: number): { name: string; line: [number, number][] }[] {
  const of = (kind: Roofline["roofs"][number]["kind"]) => roofline.roofs.filter((roof) => roof.kind === kind);
  const highest = Math.max(0, ...of("compute").map((roof) => 2 * roof.per_s));
  const fastest = Math.max(0, ...of("memory").map((roof) => roof.per_s));
  const memory = of("memory").map((roof) => {
    const end = Math.min(to, highest > 0 ? highest / roof.per_s : to);
    return { name: roof.name, line: [[from, from * roof.per_s], [end, end * roof.per_s]] as [number, number][] };
  });
  const compute = of("compute").map((roof) => {
    const flops = 2 * roof.per_s;
    return { name: roof.name, line: [[Math.max(from, fastest > 0 ? flops / fastest : from), flops], [to, flops]] as [number, number][] };
  });
  return [...memory, ...compute].filter(({ line: [a, b] }) => a && b && a[0] < b[0]);
}

const kRoof = "#8a94a0";
// Braces are templates in a label.
const escapeLabel = (text: string): string => text.replace(/[{}]/g, "");

function Picture({ experiment, roofline }: { experiment: Experiment; roofline: Roofline }) {
  const option = useMemo<EChartsCoreOption>(() => {
    const shown = points(roofline);
    const intensities = shown.map((row) => row.flops_per_byte as number);
    const from = 10 ** Math.floor(Math.log10(Math.min(0.5, ...intensities)));
    const to = 10 ** Math.ceil(Math.log10(Math.max(50, ...intensities)));
    const lines = roofs(roofline, from, to);
    const longest = Math.max(...shown.map((row) => row.time_ms));
    return {
      grid: { left: 90, right: 90, top: 30, bottom: 60 },
      legend: { show: false },
      tooltip: {
        trigger: "item",
        formatter: (point: { seriesType: string; dataIndex: number; seriesName: string }) => {
          if (point.seriesType === "line") return escapeHtml(point.seriesName);
          const row = shown[point.dataIndex];
          if (!row) return "";
          return `${escapeHtml(row.name)}<br>${time(row.time_ms)}, ${share(row.share_of_roof)} of its roofline<br>${rate(2 * row.macs_per_s, "FLOP")}, ${digits(row.flops_per_byte as number)} FLOP/byte`;
        },
      },
      xAxis: { type: "log", min: from, max: to, name: "Arithmetic intensity (FLOP/byte)", nameLocation: "middle", nameGap: 30 },
      yAxis: { type: "log", name: "FLOP/s", axisLabel: { formatter: (v: number) => rate(v, "FLOP") } },
      series: [
        ...lines.map(({ name, line }) => {
          const level = line[0]?.[1] === line[1]?.[1];
          const label = { show: true, position: level ? "right" : "insideBottomLeft", offset: level ? [0, 0] : [6, -8], formatter: escapeLabel(name), color: kRoof };
          return {
            name,
            type: "line",
            // The name stands at the end of what is level, and at the beginning of what rises.
            data: line.map((value, i) => ({ value, label: (i === 1) === level ? label : { show: false } })),
            symbol: "circle",
            symbolSize: 1,
            lineStyle: { color: kRoof, width: 1.5 },
          };
        }),
        {
          name: "operators",
          type: "scatter",
          data: shown.map((row) => [row.flops_per_byte, 2 * row.macs_per_s]),
          // The area is the time.
          symbolSize: (_: unknown, { dataIndex }: { dataIndex: number }) => 6 + 22 * Math.sqrt((shown[dataIndex]?.time_ms ?? 0) / longest),
          itemStyle: { opacity: 0.75 },
        },
      ],
    };
  }, [roofline]);
  return <Chart option={option} height={460} label={`Roofline of ${experiment.label}: FLOP/s of each operator by its arithmetic intensity, with the compute and memory roofs of the machine.`} />;
}

export function RooflineView({ report }: { report: Report }) {
  const having = report.experiments.flatMap((experiment, index) => (experiment.roofline ? [{ experiment, index, roofline: experiment.roofline }] : []));
  const [at, setAt] = useState(having.length - 1);
  const chosen = having[at];
  if (!chosen) return <p>Machine peaks were not measured (--no-peaks), or the work of the operators is unknown.</p>;
  const { experiment, roofline, index } = chosen;
  const columns: Column<Roofline["rows"][number]>[] = [
    { id: "name", title: "Operator", value: (r) => r.name },
    { id: "time", title: "Time", value: (r) => r.time_ms, text: (r) => time(r.time_ms), unit: "ms", numeric: true },
    { id: "roof", title: "Time at roofline", value: (r) => r.roof_ms, text: (r) => time(r.roof_ms), unit: "ms", numeric: true },
    { id: "save", title: "Potential saving", value: (r) => r.would_save_ms, text: (r) => time(Math.max(0, r.would_save_ms)), unit: "ms", numeric: true },
    { id: "share", title: "% of roofline", heading: "Share of roofline", value: (r) => r.share_of_roof, text: (r) => share(r.share_of_roof), numeric: true, bar: (r) => Math.min(1, r.share_of_roof) },
    { id: "bound", title: "Bound by", value: (r) => (r.bound === "compute" ? `compute (${r.roof_dtype})` : "memory") },
    { id: "speed", title: "FLOP/s", value: (r) => 2 * r.macs_per_s, text: (r) => (r.macs > 0 ? rate(2 * r.macs_per_s, "FLOP") : NONE), numeric: true },
    { id: "traffic", title: "Bandwidth", value: (r) => r.bytes_per_s, text: (r) => rate(r.bytes_per_s, "B"), unit: "B/s", numeric: true },
    { id: "macs", title: "MACs", hint: "multiply-accumulates", value: (r) => r.macs, text: (r) => count(r.macs), numeric: true },
    { id: "bytes", title: "Bytes", hint: "each tensor moved once", value: (r) => r.bytes, text: (r) => bytes(r.bytes), unit: "B", numeric: true },
  ];
  return (
    <Section title={`Roofline of ${experiment.label}`} note="How far each operator is from the machine's limits. A larger point takes more time. The further a point is below its roof, the larger its potential speedup.">
      <div class="choices">
        <Choice label="Experiment" value={at} options={having.map((one, i) => ({ value: i, text: one.experiment.label }))} onChange={setAt} />
      </div>
      <Picture experiment={experiment} roofline={roofline} />
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
