import type { ComponentChildren } from "preact";
import { bytes, count, interval, type Ratio, verdict } from "./format";
import type { Operator, Report } from "./report";

export function Bar({ length }: { length: number }) {
  return <span class="bar" aria-hidden="true" style={{ width: `${Math.max(0, Math.min(1, length)) * 100}%` }} />;
}

// A verdict is shown by a word in addition to its color.
export function VerdictText({ row }: { row: Ratio }) {
  const bounds = interval(row);
  return (
    <span class={`verdict ${row.verdict ?? "none"}`}>
      {verdict(row)}
      {bounds && row.verdict !== "same" && row.verdict !== "emulated" && <small> {bounds}</small>}
    </span>
  );
}

// The note below tables of verdicts explains rows such as "2.00 ms, 1.00 ms, 2.03x" (docs/concepts/statistics.md).
export function RatioNote() {
  return (
    <p class="quiet">
      The ratio of a verdict is the geometric mean over launches of each launch's ratio. It can differ from the ratio of the two means shown.
    </p>
  );
}

export function Section(props: { title: string; id?: string; children: ComponentChildren; note?: ComponentChildren }) {
  return (
    <section id={props.id}>
      <h2>{props.title}</h2>
      {props.note && <p class="quiet">{props.note}</p>}
      {props.children}
    </section>
  );
}

export function Choice<T extends string | number>(props: {
  label: string;
  name?: string; // screen readers read it instead of the label
  value: T;
  options: { value: T; text: string }[];
  onChange: (value: T) => void;
}) {
  if (props.options.length < 2) return null;
  return (
    <label class="choice">
      {props.label}{" "}
      <select
        aria-label={props.name}
        value={String(props.value)}
        onChange={(event) => {
          const selected = props.options[event.currentTarget.selectedIndex];
          if (selected) props.onChange(selected.value);
        }}
      >
        {props.options.map((option) => (
          <option key={String(option.value)} value={String(option.value)}>
            {option.text}
          </option>
        ))}
      </select>
    </label>
  );
}

// Lists names and values. Facts without a value are omitted.
export function Facts({ facts }: { facts: [string, string | null | undefined][] }) {
  return (
    <dl>
      {facts
        .filter(([, value]) => value)
        .map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

// Returns facts that an operator's node in the program adds.
export function programFacts(op: Operator | undefined): [string, string | null | undefined][] {
  const program = op?.program;
  return [
    ["layer", program?.layer === "" ? "(the model)" : program?.layer],
    ["source", program?.source],
    ["shape", program?.shape],
    ["work", program?.macs ? `${count(program.macs)} MACs, ${bytes(program.bytes)} moved` : null],
  ];
}

interface IndexChoiceProps {
  report: Report;
  value: number;
  onChange: (index: number) => void;
}

export function ComparisonChoice({ report, value, onChange }: IndexChoiceProps) {
  const options = report.comparisons.map((c, i) => ({ value: i, text: `${c.candidate} compared with ${c.baseline}` }));
  return <Choice label="Comparison" value={value} options={options} onChange={onChange} />;
}

export function ExperimentChoice({ report, value, onChange }: IndexChoiceProps) {
  const options = report.experiments.map((e, i) => ({ value: i, text: e.label }));
  return <Choice label="Experiment" value={value} options={options} onChange={onChange} />;
}
