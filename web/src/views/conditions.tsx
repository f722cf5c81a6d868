import { share } from "../format";
import { Facts, Section } from "../parts";
import type { Experiment, Report } from "../report";
import { DataTable } from "../table";

export function Conditions({ report }: { report: Report }) {
  const facts = report.conditions.map((fact): [string, string] => [fact.name, fact.value]);
  facts.push(["Smallest change that shows", report.noise_floor === null ? "not measured (an A/A pair would)" : share(report.noise_floor)]);
  const emulated = report.experiments.filter((e) => e.emulated).map((e) => e.label);
  const traced = report.experiments.filter((e) => e.trace_enabled).map((e) => e.label);
  const missing = report.experiments.filter((e) => e.etdump === null).map((e) => e.label);
  return (
    <>
      <Section title="Conditions">
        <Facts facts={facts} />
        {report.warnings.length > 0 && <h3>Warnings</h3>}
        <ul>
          {report.warnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
        {emulated.length > 0 && <p class="warning">Emulated CPU, timings are not meaningful: {emulated.join(", ")}.</p>}
        {traced.length > 0 && <p class="warning">Trace-enabled, evidence of kernels and not of time: {traced.join(", ")}.</p>}
        {missing.length > 0 && <p>Without a trace: {missing.join(", ")}.</p>}
      </Section>
      <Section title="Experiments">
        <DataTable<Experiment>
          rows={report.experiments}
          name="configurations"
          columns={[
            { id: "label", title: "Experiment", value: (e) => e.label },
            { id: "isa", title: "Mask", hint: "features that were switched off", value: (e) => e.isa || "none" },
            { id: "threads", title: "Threads", value: (e) => e.threads, numeric: true },
            { id: "launches", title: "Launches", value: (e) => e.launches, numeric: true },
            { id: "bursts", title: "Bursts", value: (e) => e.bursts, numeric: true },
            { id: "calls", title: "Delegate calls", value: (e) => e.delegate_calls, numeric: true },
            { id: "portable", title: "Portable kernels", value: (e) => e.portable_kernels, numeric: true },
            { id: "etdump", title: "ETDump", value: (e) => e.etdump },
          ]}
        />
        {report.experiments.map((e) => (
          <details key={`${e.name} ${e.threads}`} open={report.experiments.length <= 2}>
            <summary>
              <b>{e.label}</b>
            </summary>
            <Facts facts={e.conditions.map((fact) => [fact.name, fact.value])} />
            {e.health && e.health.length > 0 && (
              <>
                <h3>What is odd in its trace</h3>
                <ul>
                  {e.health.map((entry) => (
                    <li key={entry.name}>
                      {entry.count} × {entry.name}: {entry.explanation}
                    </li>
                  ))}
                </ul>
              </>
            )}
          </details>
        ))}
      </Section>
    </>
  );
}
