import { useState } from "preact/hooks";
import { type By, Stacked, stack, type StackRow, type Step, steps, Waterfall } from "../charts/breakdown";
import { NONE, share, time } from "../format";
import { Choice, ComparisonChoice, Section, VerdictText } from "../parts";
import type { Experiment, Report } from "../report";
import { setQuery, useRoute } from "../route";
import { type Column, DataTable, verdictFields } from "../table";

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
