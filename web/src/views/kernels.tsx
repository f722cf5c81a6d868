import { useMemo } from "preact/hooks";
import { share, time } from "../format";
import { Section } from "../parts";
import type { Experiment, MatrixKernels, Report } from "../report";
import { type Column, DataTable } from "../table";

export interface KernelRow {
  type: string;
  group: string;
  // By experiment.
  operators: number[];
  ms: (number | null)[]; // null: it has none of this kind
  shares: (number | null)[];
}

// Operators that are of one kind: XNNPACK's name without its number, or a kernel's own name.
export function kernelsOf(experiments: Experiment[]): KernelRow[] {
  const rows = new Map<string, KernelRow>();
  experiments.forEach((experiment, index) => {
    for (const op of experiment.operators ?? []) {
      const none = () => experiments.map(() => null);
      const row = rows.get(op.type) ?? { type: op.type, group: op.group, operators: experiments.map(() => 0), ms: none(), shares: none() };
      rows.set(op.type, row);
      row.operators[index] = (row.operators[index] ?? 0) + 1;
      row.ms[index] = (row.ms[index] ?? 0) + (op.mean_ms ?? 0);
      row.shares[index] = (row.shares[index] ?? 0) + (op.share ?? 0);
    }
  });
  return [...rows.values()];
}

export function Kernels({ report }: { report: Report }) {
  const experiments = useMemo(() => report.experiments.filter((e) => e.operators), [report]);
  const rows = useMemo(() => kernelsOf(experiments), [experiments]);
  const columns = useMemo<Column<KernelRow>[]>(
    () => [
      { id: "type", title: "Kernel", value: (r) => r.type },
      { id: "group", title: "Group", value: (r) => r.group },
      ...experiments.flatMap((e, i): Column<KernelRow>[] => [
        { id: `n${i}`, title: `${e.label}: operators`, value: (r) => r.operators[i] || null, numeric: true },
        { id: `ms${i}`, title: "time", heading: `${e.label}: time`, value: (r) => r.ms[i] ?? null, text: (r) => time(r.ms[i]), unit: "ms", numeric: true },
        { id: `share${i}`, title: "share", heading: `${e.label}: share`, value: (r) => r.shares[i] ?? null, text: (r) => share(r.shares[i]), numeric: true, bar: (r) => r.shares[i] ?? null },
      ]),
    ],
    [experiments],
  );
  const last = experiments.length - 1;
  return (
    <>
      <Section title="Kernels" note="Operators of one kind together: a delegate's by the name it gives them, which says data types and algorithm; portable kernels by their own. Means of self times.">
        <DataTable rows={rows} columns={columns} name="kernels" sort={{ id: `ms${last}`, descending: true }} />
      </Section>
      {experiments.map((e) => (
        <MatrixTable key={`${e.name} ${e.threads}`} experiment={e} />
      ))}
      {experiments.some((e) => (e.unknown_operators ?? []).length > 0) && (
        <Section title="Not known" note="Kinds of operators that have no category of their own, and are in the group Other.">
          <ul>
            {[...new Set(experiments.flatMap((e) => e.unknown_operators ?? []))].map((name) => (
              <li key={name}>{name}</li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

const kMatrix: Column<MatrixKernels>[] = [
  { id: "kernels", title: "Kernels", value: (r) => r.kernels },
  { id: "operators", title: "Operators", value: (r) => r.operators.length, numeric: true },
  { id: "mean", title: "Time", value: (r) => r.mean_ms, text: (r) => time(r.mean_ms), unit: "ms", numeric: true },
  { id: "why", title: "Why not KleidiAI's for SME2", value: (r) => r.why, wide: true },
  { id: "change", title: "To change at export", value: (r) => r.change, wide: true },
];

function MatrixTable({ experiment }: { experiment: Experiment }) {
  const rows = experiment.matrix_kernels ?? [];
  if (rows.length === 0) return null;
  const evidence = experiment.kernel_evidence ?? [];
  return (
    <Section
      title={`Kernels for matrices: ${experiment.label}`}
      note={evidence.length > 0 ? `Only KleidiAI's SME and SME2 kernels compute what is packed like this: ${evidence.join(", ")}.` : "No operator of KleidiAI's SME kernels."}
    >
      <DataTable rows={rows} columns={kMatrix} name={`kernels for matrices of ${experiment.label}`} sort={{ id: "mean", descending: true }} />
    </Section>
  );
}
