import { useMemo, useState } from "preact/hooks";
import { cellAt, Picture } from "../charts/ladder";
import { NONE, time } from "../format";
import { Choice, Facts, Section, VerdictText } from "../parts";
import type { Ladder, LadderCell, LadderRow, Report } from "../report";
import { type Column, DataTable, verdictFields } from "../table";

interface LevelRow {
  level: Ladder["levels"][number];
  threads: number;
  cell: LadderCell | undefined;
}

type What = "groups" | "categories" | "operators";

export function LadderView({ report }: { report: Report }) {
  const ladder = report.ladder;
  const [what, setWhat] = useState<What>("groups");
  const [threads, setThreads] = useState(ladder?.threads[0] ?? 1);
  const columns = useMemo(() => (ladder ? columnsOf(ladder, threads) : []), [ladder, threads]);
  if (!ladder) return <p>This run is no ladder: etprof isa MODEL.pte measures one.</p>;
  const rows: LevelRow[] = ladder.threads.flatMap((count) => ladder.levels.map((level) => ({ level, threads: count, cell: cellAt(ladder.latency, level.name, count) })));
  return (
    <>
      <Section title="ISA ladder" note="The same model and binary at each level of the instruction set: what each level is worth over the one below it.">
        <Picture ladder={ladder} />
        <Facts
          facts={[
            ["fastest", ladder.best ? `${ladder.best.level} with ${ladder.best.threads === 1 ? "1 thread" : `${ladder.best.threads} threads`}, ${time(ladder.best.median_ms)}` : null],
            ["measured", ladder.interleaved ? null : "not in turns: drift between levels cannot be told from an effect"],
          ]}
        />
        <DataTable
          rows={rows}
          name="levels"
          columns={[
            { id: "level", title: "Level", value: (r) => r.level.name },
            { id: "threads", title: "Threads", value: (r) => r.threads, numeric: true },
            { id: "median", title: "Median latency", value: (r) => r.cell?.ms ?? null, text: (r) => (r.level.error ? r.level.error : time(r.cell?.ms)), unit: "ms", numeric: true },
            { id: "below", title: "Over the level below", value: (r) => r.cell?.over_below?.ratio ?? null, text: (r) => (r.cell?.over_below ? <VerdictText row={r.cell.over_below} /> : NONE), fields: verdictFields("Over the level below", (r: LevelRow) => r.cell?.over_below) },
            { id: "lowest", title: "Over the lowest", value: (r) => r.cell?.over_lowest?.ratio ?? null, text: (r) => (r.cell?.over_lowest ? <VerdictText row={r.cell.over_lowest} /> : NONE), fields: verdictFields("Over the lowest", (r: LevelRow) => r.cell?.over_lowest) },
            { id: "adds", title: "Adds", value: (r) => r.level.adds.join(", ") },
          ]}
        />
      </Section>
      <Section title="Where each level helps" note="Mean self times, and beside each what it is over the level below.">
        <DataTable rows={ladder[what]} columns={columns} name={`ladder of ${what}`}>
          <Choice
            label="By"
            value={what}
            options={[
              { value: "groups", text: "group" },
              { value: "categories", text: "category" },
              { value: "operators", text: "operator" },
            ]}
            onChange={setWhat}
          />
          <Choice label="Threads" value={threads} options={ladder.threads.map((count) => ({ value: count, text: String(count) }))} onChange={setThreads} />
        </DataTable>
      </Section>
    </>
  );
}

function columnsOf(ladder: Ladder, threads: number): Column<LadderRow>[] {
  return [
    { id: "name", title: "Name", value: (row) => row.name },
    ...ladder.levels.flatMap((level, i): Column<LadderRow>[] => {
      const cell = (row: LadderRow) => cellAt(row, level.name, threads);
      const own: Column<LadderRow> = { id: `ms${i}`, title: level.name, value: (r) => cell(r)?.ms ?? null, text: (r) => time(cell(r)?.ms), unit: "ms", numeric: true };
      if (i === 0) return [own];
      const over: Column<LadderRow> = {
        id: `over${i}`,
        title: "over below",
        value: (r) => cell(r)?.over_below?.ratio ?? null,
        fields: verdictFields(`${level.name} over below`, (r) => cell(r)?.over_below),
        text: (r) => {
          const quantity = cell(r)?.over_below;
          return quantity ? <VerdictText row={quantity} /> : NONE;
        },
      };
      return [own, over];
    }),
  ];
}
