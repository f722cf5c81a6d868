import type { EChartsCoreOption } from "echarts/core";
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Chart } from "../chart";
import { type Cell, type Document, type FactList, csvFields, sectionKind, type List, sectionName, type Part, type Row, type Mark, type Section, type Series, sideBySide, makeSlugs, sortValue, type Table, tableNames, tablesOf, columnTitle, splitTail } from "../document";
import { axisTimesUpTo, bytes, digits, escapeHtml, share } from "../format";
import type { Report } from "../report";
import { href } from "../route";
import { type Column, DataTable } from "../table";

// Maps the id of a table to the report's chart that stands below the first table with that id.
export type ChartsByTable = Record<string, ComponentType<{ report: Report }>>;
// Returns the view that shows all rows of the table with that id.
type ViewOf = (table: string) => { id: string; title: string } | undefined;

const toneClass = (tone: string | undefined): string => (tone ? `tone-${tone}` : "");

// Splits text into words and code: the parts between backticks, if the backticks come in pairs, and paths of etprof's
// documentation, which a page from disk cannot link to.
export function splitCode(text: string): { text: string; code: boolean }[] {
  const parts = text.split("`");
  const quoted = parts.length % 2 === 0 ? [text] : parts;
  const split = quoted.flatMap((part, i) => (i % 2 === 1 ? [{ text: part, code: true }] : part.split(/(docs\/[\w/-]+\.md(?:#[\w-]+)?)/).map((piece, n) => ({ text: piece, code: n % 2 === 1 }))));
  return split.filter((part) => part.text !== "");
}

function Prose({ text }: { text: string }) {
  return <>{splitCode(text).map((part, i) => (part.code ? <code key={i}>{part.text}</code> : part.text))}</>;
}

function Folded({ folded, title, children }: { folded: boolean; title: string; children: ComponentChildren }) {
  if (!folded) return <>{children}</>;
  return (
    <details>
      <summary>{title}</summary>
      {children}
    </details>
  );
}

// On a phone, columns of verdicts come before columns of times.
function narrowOrder(cells: (Cell | undefined)[]): number | undefined {
  if (cells.some((cell) => cell?.tone || cell?.kind === "speedup" || cell?.kind === "change")) return 0;
  return cells.some((cell) => cell?.kind === "time" || cell?.kind === "duration") ? 1 : undefined;
}

function TablePart({ table, name, heading }: { table: Table; name: string; heading: ComponentChildren }) {
  const { rows, tail } = useMemo(() => splitTail(table.rows), [table]);
  const columns = useMemo(
    () =>
      table.columns.map((column, i): Column<Row> => {
        const cellIn = (row: Row) => row.cells[i] as Cell;
        return {
          id: column.id,
          title: columnTitle(table, i),
          numeric: column.right,
          hidden: table.rows.every((row) => row.cells[i]?.text === ""),
          wide: i > 0 && i === table.columns.length - 1 && !column.right,
          value: (row) => sortValue(cellIn(row)),
          text: (row) => cellIn(row).text,
          tone: (row) => toneClass(cellIn(row).tone),
          bar: (row) => cellIn(row).bar ?? null,
          narrowOrder: narrowOrder(table.rows.map(cellIn)),
          depth: i === 0 ? (row) => row.depth ?? 0 : undefined,
          fields: csvFields(table, i),
        };
      }),
    [table],
  );
  return <DataTable rows={rows} tail={tail} columns={columns} name={name} heading={heading} rowClass={(row) => row.role ?? ""} />;
}

// `linkOf` returns the address of the table with that id.
function ListPart({ list, linkOf }: { list: List; linkOf: (table: string) => string | undefined }) {
  const items = list.items.map((item, i) => {
    const link = item.table === undefined ? undefined : linkOf(item.table);
    const numbers = link && <a href={link}>See the numbers</a>;
    if (!item.details) {
      return (
        <li key={i}>
          <Prose text={item.text} /> {numbers}
        </li>
      );
    }
    return (
      <li key={i}>
        <details>
          <summary>
            <Prose text={item.text} />
          </summary>
          <ul>
            {item.details.map((detail, n) => (
              <li key={n}>
                <Prose text={detail} />
              </li>
            ))}
            {numbers && <li>{numbers}</li>}
          </ul>
        </details>
      </li>
    );
  });
  return list.numbered ? <ol>{items}</ol> : <ul>{items}</ul>;
}

// Consecutive facts with the same name show the name once.
function FactsPart({ facts }: { facts: FactList["facts"] }) {
  const groups: { name: string; values: string[] }[] = [];
  for (const { name, value } of facts) {
    const last = groups[groups.length - 1];
    if (last?.name === name) last.values.push(value);
    else groups.push({ name, values: [value] });
  }
  return (
    <dl>
      {groups.map(({ name, values }, i) => (
        <div key={i}>
          <dt>{name}</dt>
          {values.map((value, n) => (
            <dd key={n}>
              <Prose text={value} />
            </dd>
          ))}
        </div>
      ))}
    </dl>
  );
}

// Returns a formatter for the marks of an axis of these values, which have one unit and kind.
export function axisFormatter(cells: Cell[]): (value: number) => string {
  const sample = cells.find((cell) => cell.value !== undefined);
  if (sample?.unit === "ns") {
    const text = axisTimesUpTo(Math.max(...cells.map((cell) => cell.value ?? 0)) / 1e6);
    return (value) => text(value / 1e6);
  }
  if (sample?.unit === "bytes") return bytes;
  if (sample?.kind === "share") return share;
  return (value) => `${digits(value)}${sample?.unit ? ` ${sample.unit}` : ""}`;
}

const kSeriesHeight = 120;

const beforeComma = (text: string): string => text.split(", ")[0] ?? text;

const kNoPoints: string[] = [];
const kNoMarks: Mark[] = [];

// Draws series on one scale, by the place of their points.
function PlacedChart({ series, points, at, axis }: { series: Series[]; points: string[]; at: number[]; axis: string }) {
  const option = useMemo<EChartsCoreOption>(
    () => ({
      grid: { left: 90, right: 20, top: series.length > 1 ? 40 : 20, bottom: 50 },
      legend: { show: series.length > 1, type: "scroll" },
      tooltip: {
        trigger: "item",
        formatter: ({ seriesIndex, data }: { seriesIndex: number; data: [number, number] }) => {
          const i = at.indexOf(data[0]);
          return [series[seriesIndex]?.name, `${axis}: ${points[i]}`, series[seriesIndex]?.values[i]?.text].map((line) => escapeHtml(line ?? "")).join("<br>");
        },
      },
      xAxis: { type: "value", name: axis, nameLocation: "middle", nameGap: 30, max: "dataMax", axisLabel: { formatter: (value: number) => `${Number(value.toPrecision(6))}` } },
      yAxis: { type: "value", axisLabel: { formatter: axisFormatter(series.flatMap((curve) => curve.values)) } },
      series: series.map((curve) => ({ name: curve.name, type: "line", symbolSize: 8, data: curve.values.flatMap((cell, i) => (cell.value === undefined ? [] : [[at[i], cell.value]])) })),
    }),
    [series, points, at, axis],
  );
  const label = series.map((curve) => `${curve.name}: ${curve.values.map((cell, i) => `${cell.text} at ${points[i]}`).join(", ")}`);
  return <Chart option={option} height={260} label={`By ${axis}: ${label.join("; ")}.`} />;
}

// Draws series over the same stretch of time below each other.
function ChartPart({ series, points, marks }: { series: Series[]; points: string[]; marks: Mark[] }) {
  const drawnSeries = useMemo(() => series.filter((curve) => curve.values.some((cell) => cell.value !== undefined)), [series]);
  const option = useMemo<EChartsCoreOption>(
    () => ({
      grid: drawnSeries.map((_, i) => ({ left: 90, right: 20, top: 30 + i * kSeriesHeight, height: kSeriesHeight - 50 })),
      legend: { show: false },
      axisPointer: { link: [{ xAxisIndex: "all" }] },
      tooltip: {
        trigger: "axis",
        formatter: (hovered: { dataIndex: number }[]) => {
          const index = hovered[0]?.dataIndex ?? 0;
          const lines = drawnSeries.map((curve) => `${curve.name}: ${curve.values[index]?.text ?? ""}`);
          return [points[index] ?? "", ...lines].filter((line) => line).map(escapeHtml).join("<br>");
        },
      },
      xAxis: drawnSeries.map((curve, i) => ({ type: "category", gridIndex: i, data: curve.values.map((_, n) => n), axisLabel: { show: i === drawnSeries.length - 1 && points.length > 0, hideOverlap: true, formatter: (n: string) => beforeComma(points[Number(n)] ?? "") }, axisTick: { show: false } })),
      yAxis: drawnSeries.map((curve, i) => ({
        type: "value",
        gridIndex: i,
        scale: true,
        name: curve.name,
        nameTextStyle: { align: "left" },
        splitNumber: 2,
        axisLabel: { formatter: axisFormatter(curve.values) },
      })),
      series: drawnSeries.map((curve, i) => ({ name: curve.name, type: "line", xAxisIndex: i, yAxisIndex: i, symbolSize: 4, data: curve.values.map((cell) => cell.value ?? null), markLine: i === 0 ? { symbol: "none", silent: true, label: { formatter: ({ name }: { name: string }) => name }, data: marks.map((mark) => ({ name: mark.text, xAxis: mark.at })) } : undefined })),
    }),
    [drawnSeries, points, marks],
  );
  if (drawnSeries.length === 0) return null;
  const label = drawnSeries.map((curve) => `${curve.name}, from ${curve.values.find((cell) => cell.value !== undefined)?.text} to ${curve.values.findLast((cell) => cell.value !== undefined)?.text}`);
  return <Chart option={option} height={10 + kSeriesHeight * drawnSeries.length} label={`Over time: ${[...label, ...marks.map((mark) => `${mark.text} at ${beforeComma(points[mark.at] ?? "")}`)].join("; ")}.`} />;
}

// The values that all parts of a document share.
interface PartContext {
  report: Report | null;
  charts: Map<Table, ChartsByTable[string]>;
  names: Map<Table, string>;
  viewOf: ViewOf;
  linkOf: (table: string) => string | undefined;
}

// `section` is the title of the section.
function PartView({ part, section, context }: { part: Part; section: string; context: PartContext }) {
  const { paragraph, table, list, facts, chart } = part;
  const Title = section ? "h3" : "h2";
  const title = (text: string | undefined, folded: boolean) => (text && !folded && text !== section ? <Title>{text}</Title> : null);
  if (paragraph) {
    return (
      <Folded folded={paragraph.level === "folded"} title="More">
        <p>
          <Prose text={paragraph.text} />
        </p>
      </Folded>
    );
  }
  if (table && table.rows.length > 0) {
    const folded = table.level === "folded";
    const Below = context.charts.get(table);
    return (
      <Folded folded={folded} title={table.title ?? table.id}>
        <TablePart table={table} name={context.names.get(table) ?? table.id} heading={title(table.title, folded)} />
        {Below && context.report && <Below report={context.report} />}
      </Folded>
    );
  }
  if (list && list.items.length > 0) {
    const folded = list.level === "folded";
    return (
      <Folded folded={folded} title={list.title ?? "More"}>
        {title(list.title, folded)}
        <ListPart list={list} linkOf={context.linkOf} />
      </Folded>
    );
  }
  if (facts && facts.facts.length > 0) {
    const folded = facts.level === "folded";
    return (
      <Folded folded={folded} title={facts.title ?? "More"}>
        {title(facts.title, folded)}
        <FactsPart facts={facts.facts} />
      </Folded>
    );
  }
  if (chart?.at) return <PlacedChart series={chart.series} points={chart.points ?? kNoPoints} at={chart.at} axis={chart.axis ?? ""} />;
  return chart ? <ChartPart series={chart.series} points={chart.points ?? kNoPoints} marks={chart.marks ?? kNoMarks} /> : null;
}

function SectionView({ section, slug, context }: { section: Section; slug: string; context: PartContext }) {
  const title = section.title ?? "";
  const folded = section.level === "folded" && title !== "";
  const views = new Set(tablesOf(section).flatMap((table) => context.viewOf(table.id) ?? []));
  return (
    <section id={`at-${slug}`}>
      {title && !folded && <h2>{title}</h2>}
      <Folded folded={folded} title={title}>
        {section.parts.map((part, i) => (
          <PartView key={i} part={part} section={folded ? "" : title} context={context} />
        ))}
        {[...views].map((view) => (
          <p key={view.id}>
            All of them: <a href={href(view.id)}>{view.title}</a>
          </p>
        ))}
      </Folded>
    </section>
  );
}

function Notes({ notes }: { notes: string[] }) {
  return (
    <ul>
      {notes.map((note, i) => (
        <li key={i}>
          <Prose text={note} />
        </li>
      ))}
    </ul>
  );
}

// The first note of a report states its precision. The other notes are details and warnings.
function Quality({ notes: [first, ...others] }: { notes: string[] }) {
  const warnings = others.filter((note) => note.startsWith("warning: ")).length;
  return (
    <details>
      <summary>
        <Prose text={first ?? ""} /> {warnings > 0 && <b class="warning">{warnings === 1 ? "1 warning" : `${warnings} warnings`}</b>}
      </summary>
      <Notes notes={others} />
    </details>
  );
}

const kMaxSectionsWithoutContents = 3; // a document with more sections gets a list of contents
const kNotes = "notes"; // the slug of the notes

// Assigns each chart to the first table that has it, so that no chart appears twice.
function assignCharts(sections: Section[], chartsByTable: ChartsByTable): Map<Table, ChartsByTable[string]> {
  const charts = new Map<Table, ChartsByTable[string]>();
  const drawn = new Set<ChartsByTable[string]>();
  for (const table of sections.flatMap(tablesOf)) {
    const chart = chartsByTable[table.id];
    if (chart && !drawn.has(chart)) charts.set(table, chart);
    if (chart) drawn.add(chart);
  }
  return charts;
}

interface Entry {
  title: string;
  slug: string;
}

// Sections of one kind, such as "By kernel: one" and "By kernel: other", share an entry, which links to the first. An
// entry has the part of the title before a colon or comma, so that the entries of a report take little room.
export function contentsEntries(sections: Entry[]): Entry[] {
  const kinds = new Map<string, Entry>();
  for (const { title, slug } of sections) {
    const kind = contentsTitle(title);
    if (!kinds.has(kind)) kinds.set(kind, { title: kind, slug });
  }
  return [...kinds.values()];
}
const contentsTitle = (title: string): string => beforeComma(sectionKind(title));

// Returns the slug of the section in view: the last section that begins above `line`, a height on the screen. At the end
// of the page, the last sections cannot reach that line, so the section in the address (`addressed`) or the last section wins.
export function sectionInView(tops: { slug: string; top: number }[], line: number, atEnd: boolean, addressed: string | null): string | null {
  const above = tops.findLast(({ top }) => top <= line)?.slug ?? null;
  if (!atEnd) return above;
  return tops.find(({ slug, top }) => slug === addressed && top > line)?.slug ?? tops.at(-1)?.slug ?? null;
}

// The links to the sections stay at the top of the screen. The link to the section in view is marked. The links take
// several lines, except on a phone, where they are in one line that scrolls and shows an arrow while more follow.
function Contents({ sections, id, at, scrollToSection }: { sections: Entry[]; id: string; at: string | null; scrollToSection: (slug: string) => void }) {
  const bar = useRef<HTMLElement>(null);
  const [currentTitle, setCurrentTitle] = useState("");
  const [hasMore, setHasMore] = useState(false);
  const measure = () => {
    const { scrollLeft = 0, clientWidth = 0, scrollWidth = 0, offsetHeight = 0 } = bar.current ?? {};
    setHasMore(scrollLeft + clientWidth < scrollWidth - 4);
    document.documentElement.style.setProperty("--contents-height", `${offsetHeight}px`); // sections scroll to below the bar
  };
  useLayoutEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    if (bar.current) observer.observe(bar.current);
    return () => {
      observer.disconnect();
      document.documentElement.style.removeProperty("--contents-height");
    };
  }, [sections]);
  useEffect(() => {
    const update = () => {
      const line = (bar.current?.getBoundingClientRect().bottom ?? 0) + 24;
      const tops = sections.map(({ slug }) => ({ slug, top: document.getElementById(`at-${slug}`)?.getBoundingClientRect().top ?? 0 }));
      const slug = sectionInView(tops, line, scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 2, at);
      setCurrentTitle(sections.find((section) => section.slug === slug)?.title ?? "");
    };
    update();
    addEventListener("scroll", update, { passive: true });
    return () => removeEventListener("scroll", update);
  }, [sections, at]);
  // scrollIntoView() would stop the page's own scrolling, so the bar is scrolled directly.
  useEffect(() => {
    const link = bar.current?.querySelector<HTMLElement>("[aria-current]");
    if (bar.current && link) bar.current.scrollLeft = link.offsetLeft - (bar.current.clientWidth - link.offsetWidth) / 2;
  }, [currentTitle]);
  return (
    <nav class={hasMore ? "contents more" : "contents"} aria-label="Sections" ref={bar} onScroll={measure}>
      {contentsEntries(sections).map(({ title, slug }) => (
        <a key={slug} href={href(id, { at: slug })} aria-current={currentTitle && title === contentsTitle(currentTitle) ? "location" : undefined} onClick={() => at === slug && scrollToSection(slug)}>
          {title}
        </a>
      ))}
    </nav>
  );
}

// Draws any document. `id` is its view in the address, and `at` is the slug of the section in the address.
export function DocumentView(props: { document: Document; id: string; at: string | null; report: Report | null; chartsByTable: ChartsByTable; viewOf: ViewOf }) {
  const { document: original, id, at, report, chartsByTable, viewOf } = props;
  const merged = useMemo(() => ({ ...original, sections: sideBySide(original.sections) }), [original]);
  const slugs = useMemo(() => makeSlugs(merged.sections.map(sectionName)), [merged]);
  const charts = useMemo(() => assignCharts(merged.sections, chartsByTable), [merged, chartsByTable]);
  const names = useMemo(() => tableNames(merged.sections), [merged]);
  const scrollToSection = (slug: string | null) => {
    const section = slug === null ? null : document.getElementById(`at-${slug}`);
    const details = section?.querySelector<HTMLDetailsElement>(":scope > details");
    if (details) details.open = true;
    section?.scrollIntoView();
  };
  useEffect(() => scrollToSection(at), [at]);
  const linkOf = (table: string): string | undefined => {
    const view = viewOf(table);
    if (view) return href(view.id);
    const section = merged.sections.findIndex((candidate) => tablesOf(candidate).some((other) => other.id === table));
    return section < 0 ? undefined : href(id, { at: slugs[section] });
  };
  const context: PartContext = { report, charts, names, viewOf, linkOf };
  const { body, appendix, titledSections } = useMemo(() => {
    const sections = merged.sections.map((section, i) => ({ section, title: sectionName(section), slug: slugs[i] as string }));
    const [body, appendix] = [sections.filter(({ section }) => !section.appendix), sections.filter(({ section }) => section.appendix)];
    const notes = merged.notes.length > 0 ? [{ title: merged.notes_title ?? "Notes", slug: kNotes }] : [];
    return { body, appendix, titledSections: [...body, ...notes, ...appendix].filter(({ title }) => title !== "") };
  }, [merged, slugs]);
  const drawSections = (sections: typeof body) => sections.map(({ section, slug }) => <SectionView key={slug} section={section} slug={slug} context={context} />);
  return (
    <>
      {merged.answers.length > 0 && (
        <div class="answer">
          {merged.answers.map((answer, i) => (
            <div key={i}>
              <p class={`headline ${toneClass(answer.tone)}`}>{answer.text}</p>
              {answer.rest && (
                <p>
                  <Prose text={answer.rest} />
                </p>
              )}
            </div>
          ))}
          {merged.measured && <p class="quiet">{merged.measured}</p>}
        </div>
      )}
      {contentsEntries(titledSections).length > kMaxSectionsWithoutContents && <Contents sections={titledSections} id={id} at={at} scrollToSection={scrollToSection} />}
      {drawSections(body)}
      {merged.notes.length > 0 && (
        <section id={`at-${kNotes}`}>
          <h2>{merged.notes_title ?? "Notes"}</h2>
          {report ? <Quality notes={merged.notes} /> : <Notes notes={merged.notes} />}
        </section>
      )}
      {drawSections(appendix)}
      {merged.method && (
        <p class="quiet">
          <Prose text={merged.method} />
        </p>
      )}
    </>
  );
}
