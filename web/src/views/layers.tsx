import { useMemo, useState } from "preact/hooks";
import { Icicle } from "../charts/modules";
import { NONE, share, time } from "../format";
import { ComparisonChoice, ExperimentChoice, RatioNote, Section, VerdictText } from "../parts";
import { type Comparison, type Experiment, type Layer, type LayerComparison, namesOf, type Report } from "../report";
import { type Column, DataTable, verdictFields } from "../table";

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
