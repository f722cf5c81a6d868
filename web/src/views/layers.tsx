import { useMemo, useState } from "preact/hooks";
import { NONE, share, time, verdict } from "../format";
import { ComparisonChoice, ExperimentChoice, RatioNote, Section, VerdictText } from "../parts";
import { type Comparison, type Experiment, type Layer, type LayerComparison, namesOf, type Report } from "../report";
import { type Column, DataTable, verdictFields } from "../table";

// A module in the icicle: where it stands, as parts of the whole's width.
export interface Piece {
  index: number;
  depth: number;
  from: number;
  width: number;
}

// Children lie within their parent from its left edge on; what is left on the right is its own self time.
export function pieces(layers: Layer[]): Piece[] {
  const whole = layers[0]?.total_ns ?? 0;
  if (whole <= 0) return [];
  const next: number[] = [];
  return layers.map((layer, index) => {
    const isRoot = index === 0;
    const from = isRoot ? 0 : (next[layer.parent] ?? 0);
    const width = layer.total_ns / whole;
    if (!isRoot) next[layer.parent] = from + width;
    next[index] = from;
    return { index, depth: layer.depth, from, width };
  });
}

const kRow = 24;

// Faster is green and slower red, where it is certain; the stronger, the further from 1, up to 4x.
export function strength(row: LayerComparison | undefined): number {
  if (!row || !row.ratio || (row.verdict !== "faster" && row.verdict !== "slower")) return 0;
  return Math.min(1, 0.25 + (0.75 * Math.abs(Math.log(row.ratio))) / Math.log(4));
}

function colour(row: LayerComparison | undefined): string {
  return `color-mix(in srgb, var(--${row?.verdict === "slower" ? "slower" : "faster"}-soft) ${(100 * strength(row)).toFixed(0)}%, var(--same-soft))`;
}

function Icicle(props: {
  layers: Layer[];
  runs: number;
  compared: Map<string, LayerComparison>;
  root: number;
  onRoot: (index: number) => void;
}) {
  const all = useMemo(() => pieces(props.layers), [props.layers]);
  const root = all[props.root];
  if (!root) return <p>No module took any time.</p>;
  const shown = all.filter(
    (piece) =>
      piece.depth >= root.depth &&
      piece.from >= root.from - 1e-12 &&
      piece.from + piece.width <= root.from + root.width + 1e-12 &&
      piece.width / root.width > 0.001,
  );
  const depth = Math.max(...shown.map((piece) => piece.depth - root.depth)) + 1;
  return (
    <div class="icicle" style={{ height: depth * kRow }}>
      {shown.map((piece) => {
        const layer = props.layers[piece.index] as Layer;
        const row = props.compared.get(layer.path);
        const name = layer.path === "" ? "(model)" : layer.path;
        const label = `${name}: ${time(layer.total_ns / props.runs / 1e6)}, self ${time(layer.self_ns / props.runs / 1e6)}${row ? `, ${verdict(row)}` : ""}`;
        return (
          <button
            type="button"
            key={piece.index}
            title={layer.type ? `${label}\n${layer.type}` : label}
            aria-label={label}
            onClick={() => props.onRoot(piece.index === props.root ? 0 : piece.index)}
            style={{
              left: `${((piece.from - root.from) / root.width) * 100}%`,
              width: `${(piece.width / root.width) * 100}%`,
              top: (piece.depth - root.depth) * kRow,
              height: kRow - 2,
              background: colour(row),
            }}
          >
            {piece.width / root.width > 0.03 ? name.split(".").slice(-2).join(".") : ""}
          </button>
        );
      })}
    </div>
  );
}

interface LayerRow {
  layer: Layer;
  before: number | null;
  self: number;
  total: number;
  share: number | null;
  compared: LayerComparison | undefined;
}

// Of an inference (Method::execute), as in report.md: the modules have less than that, by what the framework and the
// calls of delegates take.
export function shareOf(layer: Layer, experiment: Experiment): number | null {
  const whole = experiment.groups?.total_ns ?? 0;
  return whole > 0 ? layer.total_ns / whole : null;
}

export function Layers({ report }: { report: Report }) {
  const [pair, setPair] = useState(0);
  const [single, setSingle] = useState(0);
  const [root, setRoot] = useState(0);
  const comparison: Comparison | undefined = report.comparisons[pair];
  const experiment: Experiment | undefined = comparison
    ? report.experiments.find((e) => e.name === comparison.candidate_experiment && e.label === comparison.candidate) ??
      report.experiments.find((e) => e.name === comparison.candidate_experiment)
    : report.experiments[single];
  const layers = experiment?.program?.layers ?? [];
  const runs = experiment?.groups?.runs ?? 1;
  const compared = useMemo(() => new Map((comparison?.layers ?? []).map((row) => [row.name, row])), [comparison]);
  if (!experiment || layers.length === 0) {
    const why = experiment?.program?.problem ?? experiment?.program?.no_sources;
    return <p>The model's modules are not known{why ? `: ${why}` : ": there is no .etrecord of this model"}.</p>;
  }
  const rows: LayerRow[] = layers.map((layer) => ({
    layer,
    before: compared.get(layer.path)?.baseline_ms ?? null,
    self: layer.self_ns / runs / 1e6,
    total: layer.total_ns / runs / 1e6,
    share: shareOf(layer, experiment),
    compared: compared.get(layer.path),
  }));
  const names = comparison && namesOf(report, comparison);
  const columns: Column<LayerRow>[] = [
    { id: "path", title: "Module", value: (r) => r.layer.path || "(model)" },
    { id: "type", title: "Type", value: (r) => r.layer.type?.split(".").pop() ?? null },
    ...(comparison
      ? [{ id: "before", title: names?.baseline ?? "", value: (r: LayerRow) => r.before, text: (r: LayerRow) => time(r.before), unit: "ms", numeric: true }]
      : []),
    { id: "total", title: names?.candidate ?? "Total", value: (r) => r.total, text: (r) => time(r.total), unit: "ms", numeric: true, bar: (r) => r.share },
    { id: "self", title: "Self", hint: "less that of the modules inside", value: (r) => r.self, text: (r) => time(r.self), unit: "ms", numeric: true },
    { id: "share", title: "Share", hint: "of an inference", value: (r) => r.share, text: (r) => share(r.share), numeric: true },
    { id: "operators", title: "Operators", value: (r) => r.layer.operators, numeric: true },
    ...(comparison
      ? [{ id: "verdict", title: "Verdict", value: (r: LayerRow) => r.compared?.ratio ?? null, text: (r: LayerRow) => (r.compared ? <VerdictText row={r.compared} /> : NONE), fields: verdictFields("Verdict", (r: LayerRow) => r.compared) }]
      : []),
  ];
  return (
    <>
      <div class="choices">
        <ComparisonChoice report={report} value={pair} onChange={setPair} />
        {!comparison && <ExperimentChoice report={report} value={single} onChange={setSingle} />}
        {root !== 0 && (
          <button type="button" onClick={() => setRoot(0)}>
            Whole model
          </button>
        )}
      </div>
      <Section
        title={`Modules of ${names?.candidate ?? experiment.label}`}
        note={`Width is time. Choose one to see what is inside.${comparison ? ` Green is faster than ${names?.baseline}, red slower, each for certain; the stronger, the more.` : ""}`}
      >
        <Icicle layers={layers} runs={runs} compared={compared} root={root} onRoot={setRoot} />
        <DataTable rows={rows} columns={columns} name="modules" sort={{ id: "total", descending: true }} />
        {comparison?.pairing === "launches" && <RatioNote />}
      </Section>
    </>
  );
}
