import type { EChartsCoreOption } from "echarts/core";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Chart } from "../chart";
import { axisTimesUpTo, escapeHtml, count, interval, NONE, share, time, timesUpTo, verdict } from "../format";
import { ComparisonChoice, ExperimentChoice, Facts, programFacts, RatioNote, Section, VerdictText } from "../parts";
import { type Comparison, type Experiment, type Operator, type OperatorDelta, type Report, callNumbers, findVariants } from "../report";
import { setQuery, useRoute } from "../route";
import { type Column, DataTable, verdictFields } from "../table";
import { readTimeline, type Timeline, selfTimesByRun } from "../timeline";
import { operatorAddress } from "./timeline";

// An operator of one experiment (`after`), or of the baseline (`before`) and the candidate (`after`) of a comparison.
interface OperatorRow {
  id: string;
  name: string;
  before: Operator | null;
  after: Operator | null;
  compared: OperatorDelta | null;
}

// Operators of different delegates may have the same name. If their layers do not distinguish them, their names get the
// number of their call, as in the terminal. The number that differs in the candidate follows: "(call 59 → 19)".
function addCallNumbers(rows: OperatorRow[], before: Experiment | undefined, after: Experiment | undefined): OperatorRow[] {
  const place = (row: OperatorRow) => `${row.name}\n${shownOperator(row)?.program?.layer ?? ""}`;
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(place(row), (counts.get(place(row)) ?? 0) + 1);
  const [callBefore, callAfter] = [callNumbers(before), callNumbers(after)];
  return rows.map((row) => {
    const calls = [callBefore(row.compared?.baseline_key), callAfter(row.compared ? row.compared.candidate_key : row.after?.key)].filter((call) => call !== null);
    return (counts.get(place(row)) ?? 0) < 2 || calls.length === 0 ? row : { ...row, name: `${row.name} (call ${[...new Set(calls)].join(" → ")})` };
  });
}

export function makeRows(report: Report, comparison: Comparison | undefined, experiment: Experiment | undefined): OperatorRow[] {
  if (!comparison) {
    const rows = (experiment?.operators ?? []).map((op) => ({ id: op.key, name: op.name, before: null, after: op, compared: null }));
    return addCallNumbers(rows, undefined, experiment);
  }
  const variants = findVariants(report, comparison);
  const index = (e: Experiment | undefined) => new Map((e?.operators ?? []).map((op) => [op.key, op]));
  const before = index(variants?.[0]);
  const after = index(variants?.[1]);
  // The row "Clipped" has no times if nothing was clipped.
  const timed = comparison.operators.filter((row) => row.baseline_ms !== null || row.candidate_ms !== null);
  const rows = timed.map((row) => ({
    id: `${row.baseline_key ?? ""}|${row.candidate_key ?? ""}`,
    name: row.name,
    before: before.get(row.baseline_key ?? "") ?? null,
    after: after.get(row.candidate_key ?? "") ?? null,
    compared: row,
  }));
  return addCallNumbers(rows, variants?.[0], variants?.[1]);
}

// Returns the row's share of one inference of the candidate. Calls of delegates and of the method are not operators of an
// experiment, so their time comes from the comparison. An operator that the candidate lacks has no share.
export function candidateShare(row: OperatorRow, comparison: Comparison): number | null {
  if (row.compared?.candidate_ms === null) return null;
  const operatorNs = row.compared?.candidate_total_ns ?? null;
  const totalNs = comparison.whole.candidate_total_ns;
  return row.after?.share ?? (operatorNs === null || totalNs <= 0 ? null : operatorNs / totalNs);
}

const shownOperator = (row: OperatorRow): Operator | null => row.after ?? row.before;

// Returns the additional time of the candidate, ms. An operator that one variant lacks takes no time there.
export const selfTimeChange = ({ compared }: OperatorRow): number | null => compared && (compared.candidate_ms ?? 0) - (compared.baseline_ms ?? 0);

// With fewer runs, the quantile would be one of the largest values, so it is not shown. The report's tables have the
// same limits.
const kMinRunsForP90 = 10;
const kMinRunsForP99 = 100;
const p99 = ({ after }: OperatorRow): number | null => (after && after.self_ms.n >= kMinRunsForP99 ? after.self_ms.p99 : null);

const kFacts = ["group", "layer", "macs", "shape"];

function makeColumns(comparison: Comparison | undefined, largest: number): Column<OperatorRow>[] {
  const name: Column<OperatorRow> = { id: "name", title: "Operator", value: (r) => r.name };
  const times = timesUpTo(largest);
  const timed = (id: string, title: string, ms: (r: OperatorRow) => number | null | undefined): Column<OperatorRow> => ({
    id,
    title: `${title}, ${times.unit}`,
    heading: title,
    value: (r) => ms(r) ?? null,
    text: (r) => times.text(ms(r)),
    unit: "ms",
    numeric: true,
    narrowOrder: 1,
  });
  const barred = (id: string, title: string, ms: (r: OperatorRow) => number | null | undefined): Column<OperatorRow> => ({
    ...timed(id, title, ms),
    bar: (r) => (ms(r) ?? 0) / largest,
  });
  const facts: Column<OperatorRow>[] = [
    { id: "group", title: "Group", value: (r) => shownOperator(r)?.group ?? null },
    { id: "layer", title: "Layer", value: (r) => shownOperator(r)?.program?.layer ?? null },
    {
      id: "macs",
      title: "MACs",
      hint: "multiply-accumulates",
      value: (r) => shownOperator(r)?.program?.macs ?? null,
      text: (r) => count(shownOperator(r)?.program?.macs),
      numeric: true,
    },
    { id: "shape", title: "Shape", value: (r) => shownOperator(r)?.program?.shape ?? null },
  ];
  if (!comparison) {
    return [
      name,
      barred("mean", "Mean self time", (r) => r.after?.mean_ms),
      { id: "share", title: "% of total", heading: "Share of total", value: (r) => r.after?.share ?? null, text: (r) => share(r.after?.share), numeric: true },
      timed("p50", "p50", (r) => r.after?.self_ms.p50),
      timed("p99", "p99", p99),
      ...facts,
    ];
  }
  return [
    name,
    barred("before", comparison.baseline, (r) => r.compared?.baseline_ms),
    barred("after", comparison.candidate, (r) => r.compared?.candidate_ms),
    {
      id: "verdict",
      title: "Verdict",
      hint: "ratio of the self times with its confidence interval; the false discovery rate is controlled over all operators",
      value: (r) => r.compared?.ratio ?? null,
      text: (r) => (r.compared ? <Verdict row={r.compared} comparison={comparison} /> : NONE),
      fields: verdictFields("Verdict", (r) => r.compared),
      narrowOrder: 2,
    },
    { ...timed("change", "Change", selfTimeChange), text: (r) => times.text(selfTimeChange(r)).replace(/^(?=[\d.]*[1-9])/, "+"), hint: `time that ${comparison.candidate} takes more; sorts by its size`, order: (r) => Math.abs(selfTimeChange(r) ?? 0), narrowOrder: 0 },
    { id: "share", title: "% of total", heading: "Share of total", hint: `of ${comparison.candidate}`, value: (r) => candidateShare(r, comparison), text: (r) => share(candidateShare(r, comparison)), numeric: true },
    ...facts,
  ];
}

// The row "Clipped" has no operator in either variant.
export const isClipped = (row: OperatorDelta): boolean => !row.baseline_key && !row.candidate_key;

function Verdict({ row, comparison }: { row: OperatorDelta; comparison: Comparison }) {
  if (isClipped(row)) return NONE;
  if (!row.baseline_key) return <span class="quiet only">only in {comparison.candidate}</span>;
  if (!row.candidate_key) return <span class="quiet only">only in {comparison.baseline}</span>;
  return <VerdictText row={row} />;
}

// Shows the details of a row without an operator: overhead of the framework, or the correction of overlapping spans.
function Overhead({ name, row, comparison }: { name: string; row: OperatorDelta; comparison: Comparison }) {
  return (
    <div>
      <h3>{name}</h3>
      <Facts
        facts={[
          ["what", isClipped(row) ? "correction: time that overlapping spans claim twice or outside their parent" : "overhead: the time of the call minus the time of the operators inside"],
          [comparison.baseline, time(row.baseline_ms)],
          [comparison.candidate, time(row.candidate_ms)],
          ["verdict", `${verdict(row)} ${interval(row)}`],
        ]}
      />
    </div>
  );
}

function OperatorDetails({ title, op, experiment, report, pair }: { title: string; op: Operator; experiment: Experiment | undefined; report: Report; pair: number }) {
  const selfTimes = op.self_ms;
  const facts: [string, string | null | undefined][] = [
    ["name", op.name],
    ["category", `${op.category}, ${op.group}`],
    ["backend", op.backend ?? (op.portable ? "portable" : null)],
    ["call", op.call === null ? null : String(op.call)],
    ...programFacts(op),
    ["not delegated", op.program?.why_not_delegated],
    ["not joined", op.program?.why],
    ["mean self time", `${time(op.mean_ms)}, ${share(op.share)} of an inference`],
    [
      "runs",
      `${selfTimes.n}: min ${time(selfTimes.min)}, p50 ${time(selfTimes.p50)}${selfTimes.n >= kMinRunsForP90 ? `, p90 ${time(selfTimes.p90)}` : ""}${selfTimes.n >= kMinRunsForP99 ? `, p99 ${time(selfTimes.p99)}` : ""}, max ${time(selfTimes.max)}`,
    ],
    ["spread", selfTimes.cv === null ? null : `sd ${time(selfTimes.sd)}, CV ${share(selfTimes.cv)}`],
    ["node", op.key],
  ];
  return (
    <div>
      <h3>{title}</h3>
      <Facts facts={facts} />
      <Neighbors title="Producers" keys={op.program?.producers} experiment={experiment} report={report} pair={pair} />
      <Neighbors title="Consumers" keys={op.program?.consumers} experiment={experiment} report={report} pair={pair} />
    </div>
  );
}

// Neighbors are shown because a layout conversion can only be removed by changing the operators around it.
function Neighbors(props: { title: string; keys: string[] | undefined; experiment: Experiment | undefined; report: Report; pair: number }) {
  const { keys, experiment, report, pair } = props;
  if (!experiment || !keys || keys.length === 0) return null;
  const index = report.experiments.indexOf(experiment);
  return (
    <>
      <h4>{props.title}</h4>
      <ul class="neighbors">
        {keys.map((key) => {
          const op = experiment.operators?.find((operator) => operator.key === key);
          return (
            <li key={key}>
              <a href={operatorAddress(report, index, key, pair)}>{op?.name ?? key}</a> <span class="quiet">{op && `${time(op.mean_ms)} · ${op.group}`}</span>
            </li>
          );
        })}
      </ul>
    </>
  );
}

interface ShownOperator {
  experiment: number; // index in report.experiments
  key: string; // key of the operator
}

// Shows the self time in each traced run of the page, which reveals spread and drift.
function Spread({ report, shownOperators }: { report: Report; shownOperators: ShownOperator[] }) {
  const [timeline, setTimeline] = useState<Timeline | null>(null);
  useEffect(() => {
    readTimeline(document).then(setTimeline, () => setTimeline(null));
  }, []);
  const series = useMemo(
    () =>
      shownOperators.map(({ experiment, key }) => {
        const experimentTimeline = timeline?.experiments[experiment];
        return { name: report.experiments[experiment]?.label ?? "", points: experimentTimeline ? selfTimesByRun(experimentTimeline, key) : [], runs: experimentTimeline?.runs.length ?? 0, tracedRuns: experimentTimeline?.traced_runs ?? 0 };
      }),
    [timeline, shownOperators, report],
  );
  const option = useMemo<EChartsCoreOption>(
    () => ({
      grid: { left: 80, right: 20, top: 34, bottom: 44 },
      tooltip: { trigger: "item", formatter: (point: { seriesName: string; value: number[] }) => `${escapeHtml(point.seriesName)}, run ${point.value[0]}: ${time(point.value[1])}` },
      xAxis: { type: "value", name: "traced run", nameLocation: "middle", nameGap: 26, minInterval: 1, max: "dataMax" },
      yAxis: { type: "value", scale: true, axisLabel: { formatter: axisTimesUpTo(Math.max(0, ...series.flatMap((curve) => curve.points.map((point) => point.ms)))) } },
      series: series.map((curve) => ({ name: curve.name, type: "scatter", symbolSize: 6, data: curve.points.map((point) => [point.run, point.ms]) })),
    }),
    [series],
  );
  if (!series.some((curve) => curve.points.length > 1)) return null;
  const incomplete = series.find((curve) => curve.runs < curve.tracedRuns);
  return (
    <div>
      <h3>Self time, run by run</h3>
      <Chart option={option} height={220} label={`Self time of the operator in each traced run of ${series.map((curve) => curve.name).join(" and ")}.`} />
      <p class="quiet">
        Steady-state runs only.{incomplete && ` This file contains ${incomplete.runs} of the ${incomplete.tracedRuns} traced runs; the statistics are not limited to them.`}
      </p>
    </div>
  );
}

export function Operators({ report }: { report: Report }) {
  const { query } = useRoute();
  const pair = Number(query.get("pair") ?? 0);
  const single = Number(query.get("experiment") ?? 0);
  // The selected operator belongs to one pair or experiment, so a change of these clears the selection.
  const show = (key: "pair" | "experiment", index: number) => {
    setQuery("op", undefined);
    setQuery(key, index > 0 ? String(index) : undefined);
  };
  const significantOnly = query.get("certain") === "1";
  const comparison = report.comparisons[pair];
  const experiment = report.experiments[single];
  const rows = useMemo(() => makeRows(report, comparison, experiment), [report, comparison, experiment]);
  const filteredRows = useMemo(
    () => (significantOnly ? rows.filter((r) => r.compared?.verdict === "faster" || r.compared?.verdict === "slower") : rows),
    [rows, significantOnly],
  );
  const largest = useMemo(
    () => Math.max(1e-12, ...rows.map((r) => Math.max(r.compared?.baseline_ms ?? 0, r.compared?.candidate_ms ?? 0, r.after?.mean_ms ?? 0))),
    [rows],
  );
  // A column of facts that no operator has is only exported.
  const columns = useMemo(() => makeColumns(comparison, largest).map((column) => ({ ...column, hidden: kFacts.includes(column.id) && rows.every((row) => column.value(row) === null) })), [rows, comparison, largest]);
  const selected = rows.find((row) => row.id === query.get("op"));
  const [before, after] = useMemo<(Experiment | undefined)[]>(
    () => (comparison ? (findVariants(report, comparison) ?? []) : [undefined, experiment]),
    [report, comparison, experiment],
  );
  const shownOperators = useMemo<ShownOperator[]>(() => {
    const operators: ShownOperator[] = [];
    const add = (side: Experiment | undefined, key: string | null | undefined) => {
      if (side && key) operators.push({ experiment: report.experiments.indexOf(side), key });
    };
    if (selected) {
      add(before, selected.compared?.baseline_key);
      add(after, comparison ? selected.compared?.candidate_key : selected.after?.key);
    }
    return operators;
  }, [report, comparison, before, after, selected]);
  if (rows.length === 0) return <p>No experiment has operators of a complete traced run.</p>;
  return (
    <Section title="Operators" note="Select an operator for details.">
      {selected && (
        <aside class="details" aria-label={`Details of ${selected.name}`}>
          <button type="button" class="close" onClick={() => setQuery("op", undefined)}>
            Close
          </button>
          {selected.before && <OperatorDetails title={comparison?.baseline ?? ""} op={selected.before} experiment={before} report={report} pair={pair} />}
          {selected.after && <OperatorDetails title={comparison?.candidate ?? experiment?.label ?? ""} op={selected.after} experiment={after} report={report} pair={pair} />}
          <Spread report={report} shownOperators={shownOperators} />
          {!selected.before && !selected.after && selected.compared && comparison && <Overhead name={selected.name} row={selected.compared} comparison={comparison} />}
        </aside>
      )}
      <DataTable
        rows={filteredRows}
        columns={columns}
        name="operators"
        sort={{ id: comparison ? "change" : "mean", descending: true }}
        filter={query.get("q") ?? ""}
        onFilter={(text) => setQuery("q", text)}
        onRow={(row) => setQuery("op", row.id)}
      >
        <ComparisonChoice report={report} value={pair} onChange={(index) => show("pair", index)} />
        {!comparison && <ExperimentChoice report={report} value={single} onChange={(index) => show("experiment", index)} />}
        {comparison && (
          <label>
            <input type="checkbox" checked={significantOnly} onChange={(event) => setQuery("certain", event.currentTarget.checked ? "1" : undefined)} /> Significant
            changes only
          </label>
        )}
      </DataTable>
      {comparison?.pairing === "launches" && <RatioNote />}
    </Section>
  );
}
