import { useMemo, useState } from "preact/hooks";
import { time, verdict } from "../format";
import { ComparisonChoice, ExperimentChoice } from "../parts";
import { type Delta, type Layer, variantNames, type Report, findVariants } from "../report";

// The position of a module in the icicle. `from` and `width` are fractions of the whole model's width.
interface Piece {
  index: number;
  depth: number;
  from: number;
  width: number;
}

// Children lie within their parent, starting at its left edge. The rest of its width, on the right, is the parent's self time.
export function pieces(layers: Layer[]): Piece[] {
  const totalNs = layers[0]?.total_ns ?? 0;
  if (totalNs <= 0) return [];
  const nextFrom: number[] = [];
  return layers.map((layer, index) => {
    const isRoot = index === 0;
    const from = isRoot ? 0 : (nextFrom[layer.parent] ?? 0);
    const width = layer.total_ns / totalNs;
    if (!isRoot) nextFrom[layer.parent] = from + width;
    nextFrom[index] = from;
    return { index, depth: layer.depth, from, width };
  });
}

const kRowHeight = 24;

// Returns the strength (0 to 1) of a module's color. Only significant changes are colored: green if faster, red if slower.
// The color gets stronger with the ratio, up to 4x.
export function strength(row: Delta | undefined): number {
  if (!row || !row.ratio || (row.verdict !== "faster" && row.verdict !== "slower")) return 0;
  return Math.min(1, 0.25 + (0.75 * Math.abs(Math.log(row.ratio))) / Math.log(4));
}

function color(row: Delta | undefined): string {
  return `color-mix(in srgb, var(--${row?.verdict === "slower" ? "slower" : "faster"}-soft) ${(100 * strength(row)).toFixed(0)}%, var(--same-soft))`;
}

function Icicle(props: {
  layers: Layer[];
  runs: number;
  deltas: Map<string, Delta>;
  root: number;
  onRoot: (index: number) => void;
}) {
  const allPieces = useMemo(() => pieces(props.layers), [props.layers]);
  const root = allPieces[props.root];
  if (!root) return <p>No module took any time.</p>;
  const visiblePieces = allPieces.filter(
    (piece) =>
      piece.depth >= root.depth &&
      piece.from >= root.from - 1e-12 &&
      piece.from + piece.width <= root.from + root.width + 1e-12 &&
      piece.width / root.width > 0.001,
  );
  const depth = Math.max(...visiblePieces.map((piece) => piece.depth - root.depth)) + 1;
  return (
    <div class="icicle" style={{ height: depth * kRowHeight }}>
      {visiblePieces.map((piece) => {
        const layer = props.layers[piece.index] as Layer;
        const row = props.deltas.get(layer.path);
        const name = layer.path === "" ? "(model)" : layer.path;
        const hasLabel = piece.width / root.width > 0.03;
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
              top: (piece.depth - root.depth) * kRowHeight,
              height: kRowHeight - 2,
              background: color(row),
              padding: hasLabel ? undefined : 0, // else a narrow module would be wider than its time
            }}
          >
            {hasLabel ? name.split(".").slice(-2).join(".") : ""}
          </button>
        );
      })}
    </div>
  );
}

// Shows the modules of an experiment or of a pair's candidate.
export function Modules({ report }: { report: Report }) {
  const [pair, setPair] = useState(0);
  const [single, setSingle] = useState(() => Math.max(0, report.experiments.findIndex((e) => e.program?.layers.length)));
  const [root, setRoot] = useState(0);
  const comparison = report.comparisons[pair];
  const experiment = comparison ? findVariants(report, comparison)?.[1] : report.experiments[single];
  const layers = experiment?.program?.layers ?? [];
  const deltas = useMemo(() => new Map((comparison?.layers ?? []).map((row) => [row.name, row])), [comparison]);
  const names = comparison && variantNames(report, comparison);
  const resettingRoot = (set: (index: number) => void) => (index: number) => {
    set(index);
    setRoot(0); // another model may have other modules
  };
  return (
    <>
      <div class="choices">
        <ComparisonChoice report={report} value={pair} onChange={resettingRoot(setPair)} />
        {!comparison && <ExperimentChoice report={report} value={single} onChange={resettingRoot(setSingle)} />}
        {root !== 0 && (
          <button type="button" onClick={() => setRoot(0)}>
            Whole model
          </button>
        )}
      </div>
      <p class="quiet">
        Width is time{names ? ` in ${names.candidate}` : ""}. Select a module to see what is inside.
        {names && ` Green is significantly faster than ${names.baseline}, red slower. A stronger color is a larger change.`}
      </p>
      <Icicle layers={layers} runs={experiment?.groups?.runs ?? 1} deltas={deltas} root={root} onRoot={setRoot} />
    </>
  );
}
