import { time } from "../format";
import type { Report } from "../report";
import { href } from "../route";

// Where the reader finds what an insight is about, by its kind (docs/schema/analysis_summary.schema.json).
const kEvidence: Record<string, string> = {
  bottleneck_shift: href("where", { share: 1 }),
  bottleneck: href("where"),
  amdahl: href("where", { by: "categories" }),
  portable: href("operators", { q: "native_call" }),
  data_movement: href("operators", { q: "Data Movement" }),
  delegate_overhead: href("where"),
  slower_operators: href("operators", { certain: 1 }),
  first_run: href("summary"),
  roofline: href("roofline"),
  noise: href("summary"),
  tracing: href("summary"),
};

export function Insights({ report }: { report: Report }) {
  if (report.insights.length === 0) return <p>Nothing stands out.</p>;
  return (
    <>
    <p class="quiet">What to look at next, the most time first: in front stands what an inference would save at most, were it free.</p>
    <ol class="insights">
      {report.insights.map((insight) => (
        <li key={`${insight.kind} ${insight.experiment} ${insight.text}`}>
          <p>
            {insight.at_stake_ms !== null && insight.at_stake_ms > 0 && (
              <strong title="at stake in one inference">{time(insight.at_stake_ms)} </strong>
            )}
            {insight.text}
          </p>
          <details>
            <summary>Evidence</summary>
            <ul>
              {insight.evidence.map((line) => (
                <li key={line}>{line}</li>
              ))}
            </ul>
            <p class="quiet">
              Formula: {insight.formula}. Experiment: {insight.experiment}.{" "}
              <a href={kEvidence[insight.kind] ?? href("operators")}>See the numbers</a>
            </p>
          </details>
        </li>
      ))}
    </ol>
    </>
  );
}
