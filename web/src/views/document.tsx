import type { EChartsCoreOption } from "echarts/core";
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { Chart } from "../chart";
import { type Cell, type Document, type FactList, fieldsOf, type List, type Part, type Row, type Section, type Series, slugsOf, sortValue, type Table, withTail } from "../document";
import { bytes, digits, escapeHtml, share, time } from "../format";
import type { Report } from "../report";
import { href } from "../route";
import { type Column, DataTable } from "../table";

// What stands above the table of that id: charts in which people look for things, of a report.
export type Beside = Record<string, ComponentType<{ report: Report }>>;

const toneOf = (tone: string | undefined): string => (tone ? `tone-${tone}` : "");

function Folded({ is, title, children }: { is: boolean; title: string; children: ComponentChildren }) {
  if (!is) return <>{children}</>;
  return (
    <details>
      <summary>{title}</summary>
      {children}
    </details>
  );
}

function TablePart({ table, name, heading }: { table: Table; name: string; heading: ComponentChildren }) {
  const { rows, tail } = useMemo(() => withTail(table.rows), [table]);
  const columns = useMemo(
    () =>
      table.columns.map((column, i): Column<Row> => {
        const of = (row: Row) => row.cells[i] as Cell;
        return {
          id: column.id,
          title: column.title,
          numeric: column.right,
          hidden: table.rows.every((row) => row.cells[i]?.text === ""),
          wide: i > 0 && i === table.columns.length - 1 && !column.right,
          value: (row) => sortValue(of(row)),
          text: (row) => of(row).text,
          tone: (row) => toneOf(of(row).tone),
          bar: (row) => of(row).bar ?? null,
          depth: i === 0 ? (row) => row.depth ?? 0 : undefined,
          fields: fieldsOf(table, i),
        };
      }),
    [table],
  );
  return <DataTable rows={rows} tail={tail} columns={columns} name={name} heading={heading} rowClass={(row) => row.role ?? ""} />;
}

function ListPart({ list }: { list: List }) {
  const items = list.items.map((item, i) => (
    <li key={i}>
      {item.details ? (
        <details>
          <summary>{item.text}</summary>
          <ul>
            {item.details.map((detail, n) => (
              <li key={n}>{detail}</li>
            ))}
          </ul>
        </details>
      ) : (
        item.text
      )}
    </li>
  ));
  return list.numbered ? <ol>{items}</ol> : <ul>{items}</ul>;
}

// A name that repeats is shown once.
function FactsPart({ facts }: { facts: FactList["facts"] }) {
  const named: { name: string; values: string[] }[] = [];
  for (const { name, value } of facts) {
    const last = named[named.length - 1];
    if (last?.name === name) last.values.push(value);
    else named.push({ name, values: [value] });
  }
  return (
    <dl>
      {named.map(({ name, values }, i) => (
        <div key={i}>
          <dt>{name}</dt>
          {values.map((value, n) => (
            <dd key={n}>{value}</dd>
          ))}
        </div>
      ))}
    </dl>
  );
}

// A mark on the axis of such values.
function markOf(like: Cell | undefined): (value: number) => string {
  if (like?.unit === "ns") return (value) => time(value / 1e6);
  if (like?.unit === "bytes") return bytes;
  if (like?.kind === "share") return share;
  return (value) => `${digits(value)}${like?.unit ? ` ${like.unit}` : ""}`;
}

const kSeriesHeight = 120;

// Series over the same stretch of time, under each other.
function ChartPart({ series }: { series: Series[] }) {
  const shown = useMemo(() => series.filter((one) => one.values.some((cell) => cell.value !== undefined)), [series]);
  const option = useMemo<EChartsCoreOption>(
    () => ({
      grid: shown.map((_, i) => ({ left: 90, right: 20, top: 30 + i * kSeriesHeight, height: kSeriesHeight - 50 })),
      legend: { show: false },
      axisPointer: { link: [{ xAxisIndex: "all" }] },
      tooltip: {
        trigger: "axis",
        formatter: (points: { dataIndex: number }[]) => {
          const at = points[0]?.dataIndex ?? 0;
          return shown.map((one) => `${escapeHtml(one.name)}: ${escapeHtml(one.values[at]?.text ?? "")}`).join("<br>");
        },
      },
      xAxis: shown.map((one, i) => ({ type: "category", gridIndex: i, data: one.values.map((_, n) => n), axisLabel: { show: false }, axisTick: { show: false } })),
      yAxis: shown.map((one, i) => ({
        type: "value",
        gridIndex: i,
        scale: true,
        name: one.name,
        nameTextStyle: { align: "left" },
        splitNumber: 2,
        axisLabel: { formatter: markOf(one.values.find((cell) => cell.value !== undefined)) },
      })),
      series: shown.map((one, i) => ({ name: one.name, type: "line", xAxisIndex: i, yAxisIndex: i, symbolSize: 4, data: one.values.map((cell) => cell.value ?? null) })),
    }),
    [shown],
  );
  if (shown.length === 0) return null;
  const label = shown.map((one) => `${one.name}, from ${one.values.find((cell) => cell.value !== undefined)?.text} to ${one.values.findLast((cell) => cell.value !== undefined)?.text}`);
  return <Chart option={option} height={10 + kSeriesHeight * shown.length} label={`Over time: ${label.join("; ")}.`} />;
}

// Of its exported file, and for screen readers.
function nameOf(section: string, table: Table): string {
  const own = table.title ?? table.id;
  return section === "" || section === own ? own : `${section}: ${own}`;
}

interface PartProps {
  part: Part;
  section: string; // its title
  report: Report | null;
  beside: Beside;
}

function PartView({ part, section, report, beside }: PartProps) {
  const { paragraph, table, list, facts, chart } = part;
  const Title = section ? "h3" : "h2";
  const title = (text: string | undefined, folded: boolean) => (text && !folded && text !== section ? <Title>{text}</Title> : null);
  if (paragraph) {
    return (
      <Folded is={paragraph.level === "folded"} title="More">
        <p>{paragraph.text}</p>
      </Folded>
    );
  }
  if (table && table.rows.length > 0) {
    const folded = table.level === "folded";
    const Above = report && beside[table.id];
    return (
      <Folded is={folded} title={table.title ?? table.id}>
        {Above && <Above report={report} />}
        <TablePart table={table} name={nameOf(section, table)} heading={title(table.title, folded)} />
      </Folded>
    );
  }
  if (list && list.items.length > 0) {
    const folded = list.level === "folded";
    return (
      <Folded is={folded} title={list.title ?? "More"}>
        {title(list.title, folded)}
        <ListPart list={list} />
      </Folded>
    );
  }
  if (facts && facts.facts.length > 0) {
    const folded = facts.level === "folded";
    return (
      <Folded is={folded} title={facts.title ?? "More"}>
        {title(facts.title, folded)}
        <FactsPart facts={facts.facts} />
      </Folded>
    );
  }
  return chart ? <ChartPart series={chart.series} /> : null;
}

function SectionView({ section, slug, report, beside }: { section: Section; slug: string; report: Report | null; beside: Beside }) {
  const title = section.title ?? "";
  const folded = section.level === "folded" && title !== "";
  return (
    <section id={`at-${slug}`}>
      {title && !folded && <h2>{title}</h2>}
      <Folded is={folded} title={title}>
        {section.parts.map((part, i) => (
          <PartView key={i} part={part} section={folded ? "" : title} report={report} beside={beside} />
        ))}
      </Folded>
    </section>
  );
}

const kFewSections = 3; // so many are seen without a list of them

// Any document. `id`: what the address calls it, `at`: the section that it asks for.
export function DocumentView(props: { document: Document; id: string; at: string | null; report: Report | null; beside: Beside }) {
  const { document: of, id, at } = props;
  const slugs = useMemo(() => slugsOf(of.sections.map((section) => section.title ?? "")), [of]);
  useEffect(() => {
    const section = at === null ? null : document.getElementById(`at-${at}`);
    section?.scrollIntoView();
    const details = section?.querySelector<HTMLDetailsElement>(":scope > details");
    if (details) details.open = true;
  }, [at]);
  const titled = of.sections.flatMap((section, i) => (section.title ? [{ title: section.title, slug: slugs[i] as string }] : []));
  return (
    <>
      {of.answers.length > 0 && (
        <div class="answer">
          {of.answers.map((answer, i) => (
            <div key={i}>
              <p class={`headline ${toneOf(answer.tone)}`}>{answer.text}</p>
              {answer.rest && <p>{answer.rest}</p>}
            </div>
          ))}
        </div>
      )}
      {titled.length > kFewSections && (
        <ul class="contents" aria-label="Sections">
          {titled.map(({ title, slug }) => (
            <li key={slug}>
              <a href={href(id, { at: slug })}>{title}</a>
            </li>
          ))}
        </ul>
      )}
      {of.sections.map((section, i) => (
        <SectionView key={i} section={section} slug={slugs[i] as string} report={props.report} beside={props.beside} />
      ))}
      {of.notes.length > 0 && (
        <section>
          <h2>Notes</h2>
          <ul>
            {of.notes.map((note, i) => (
              <li key={i}>{note}</li>
            ))}
          </ul>
        </section>
      )}
      {of.method && <p class="quiet">{of.method}</p>}
    </>
  );
}
