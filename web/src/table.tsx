import {
  type ColumnDef,
  getCoreRowModel,
  getSortedRowModel,
  type SortingState,
  useReactTable,
} from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { toCsv } from "./csv";
import type { Ratio } from "./format";
import { Bar } from "./parts";
import { usePrinting } from "./print";

// A column of a table: the values by which it sorts and that it exports, and how it looks.
export interface Column<T> {
  id: string;
  title: string;
  hint?: string; // tooltip of the title
  value: (row: T) => string | number | null;
  order?: (row: T) => number | null; // sorts instead of the value
  text?: (row: T) => ComponentChildren; // default: the value
  numeric?: boolean;
  bar?: (row: T) => number | null; // length of the bar behind the text, 0 to 1
  wide?: boolean; // takes the remaining width
  unit?: string; // unit of the value, which the exported heading names
  heading?: string; // exported heading, if it differs from the title
  fields?: Field<T>[]; // exported instead of the value
  hidden?: boolean; // only exported
  tone?: (row: T) => string; // CSS class
  depth?: (row: T) => number; // level of indentation in a tree
  narrowOrder?: number; // position behind the first column on a phone, lowest first; default: last
}

const kNarrowQuery = "(max-width: 640px)"; // as in style.css
export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => matchMedia(kNarrowQuery).matches);
  useEffect(() => {
    const query = matchMedia(kNarrowQuery);
    const update = () => setNarrow(query.matches);
    query.addEventListener("change", update);
    return () => query.removeEventListener("change", update);
  }, []);
  return narrow;
}

export function orderForNarrow<T>([first, ...others]: Column<T>[]): Column<T>[] {
  const order = (column: Column<T>) => column.narrowOrder ?? Number.POSITIVE_INFINITY;
  return first ? [first, ...others.sort((a, b) => (order(a) === order(b) ? 0 : order(a) - order(b)))] : [];
}

// Shortens a name for a phone, but keeps its end, which distinguishes it from other names. A path loses its outer modules:
// "− module.bert.encoder.layer.1.attention.self Where" -> "− …layer.1.attention.self Where". If `cut`, a name that is still
// too long loses its middle.
const kMaxNameLength = 32; // letters, about two lines of the first column
export function shortName(text: string, cut: boolean): string {
  const path = text.split(/[\s()]/).find((word) => word.split(".").length > 2) ?? "";
  const modules = path.split(".");
  let name = text;
  while (name.length > kMaxNameLength && modules.length > 1) {
    modules.shift();
    name = text.replace(path, () => `…${modules.join(".")}`);
  }
  return !cut || name.length <= kMaxNameLength ? name : `${name.slice(0, kMaxNameLength - 18)}…${name.slice(-15)}`;
}

export interface Field<T> {
  title: string;
  value: (row: T) => string | number | null;
}

// Exports a verdict as its word and its ratio with interval, as in analysis_summary.json (above 1: faster).
export function verdictFields<T>(title: string, getRatio: (row: T) => Ratio | null | undefined): Field<T>[] {
  return [
    { title: `${title}: ratio`, value: (row) => getRatio(row)?.ratio ?? null },
    { title: `${title}: low`, value: (row) => getRatio(row)?.ratio_low ?? null },
    { title: `${title}: high`, value: (row) => getRatio(row)?.ratio_high ?? null },
    { title, value: (row) => getRatio(row)?.verdict ?? null },
  ];
}

export function tableCsv<T>(rows: T[], columns: Column<T>[]): string {
  const fields = columns.flatMap((column): Field<T>[] => {
    const title = column.heading ?? column.title;
    return column.fields ?? [{ title: column.unit ? `${title} (${column.unit})` : title, value: column.value }];
  });
  return toCsv(
    fields.map((field) => field.title),
    rows.map((row) => fields.map((field) => field.value(row))),
  );
}

interface TableProps<T> {
  rows: T[];
  columns: Column<T>[];
  name: string; // name of the exported file, also for screen readers
  sort?: { id: string; descending: boolean };
  filter?: string; // initial text of the filter
  onFilter?: (text: string) => void;
  children?: ComponentChildren; // additional controls
  onRow?: (row: T) => void;
  tail?: T[]; // rows that stay at the end in any order of the others
  rowClass?: (row: T) => string;
  heading?: ComponentChildren;
}

// Compares numbers by size, and texts with numbers in them naturally: "#9" before "#10".
const kCollator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
export function compareValues(a: string | number, b: string | number): number {
  return typeof a === "number" && typeof b === "number" ? a - b : kCollator.compare(String(a), String(b));
}

const kMaxRowsWithoutFilter = 8;
const kRowHeight = 30;
const kMaxRowsWithoutFrame = 60; // a table with more rows scrolls in its own frame
const kMaxRowsPrinted = 200;

export function DataTable<T>(props: TableProps<T>) {
  const [sorting, setSorting] = useState<SortingState>(
    props.sort ? [{ id: props.sort.id, desc: props.sort.descending }] : [],
  );
  const [typed, setTyped] = useState(props.filter ?? "");
  const filter = useDebounced(typed, 40);
  const [copyStatus, setCopyStatus] = useState("");
  const narrow = useNarrow();
  const columns = useMemo(() => {
    const visibleColumns = props.columns.filter((column) => !column.hidden);
    return narrow ? orderForNarrow(visibleColumns) : visibleColumns;
  }, [props.columns, narrow]);
  const definitions = useMemo<ColumnDef<T>[]>(
    () =>
      columns.map((column) => ({
        id: column.id,
        accessorFn: (row: T) => (column.order ?? column.value)(row) ?? undefined,
        sortUndefined: "last",
        sortDescFirst: props.rows.some((row) => typeof column.value(row) === "number"),
        sortingFn: (a, b, id) => compareValues(a.getValue(id), b.getValue(id)),
      })),
    [columns, props.rows],
  );
  const [searched, setSearched] = useState(filter !== "");
  // A filtered table keeps its width, so that the buttons do not move while the reader types.
  const element = useRef<HTMLDivElement>(null);
  const [minWidth, setMinWidth] = useState(0);
  const texts = useSearchTexts(props.rows, columns, searched);
  const filtered = useMemo(() => {
    const searchText = filter.toLowerCase();
    return searchText && texts.length > 0 ? props.rows.filter((_, i) => texts[i]?.includes(searchText)) : props.rows;
  }, [props.rows, texts, filter]);
  const table = useReactTable({
    data: filtered,
    columns: definitions,
    state: { sorting },
    onSortingChange: setSorting,
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
  });
  const rows = table.getRowModel().rows;
  const tail = props.tail ?? [];
  const rowCount = props.rows.length + tail.length;
  const scroller = useRef<HTMLDivElement>(null);
  const printing = usePrinting();
  const scrolls = !printing && rows.length > kMaxRowsWithoutFrame;
  // A table that is too wide for the paper is shrunk, because the browser would shrink all pages and cut off the rest.
  const tableElement = useRef<HTMLTableElement>(null);
  useLayoutEffect(() => {
    const [frame, table] = [scroller.current, tableElement.current];
    if (!printing || !frame || !table) return;
    table.style.zoom = String(Math.min(1, frame.clientWidth / table.scrollWidth) || 1);
    return () => table.style.removeProperty("zoom");
  }, [printing]);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => kRowHeight,
    overscan: 12,
    enabled: scrolls,
  });
  const items = scrolls ? virtualizer.getVirtualItems() : [];
  const printedRows = printing ? rows.slice(0, kMaxRowsPrinted) : rows;
  const rowIndices = scrolls ? items.map((item) => item.index) : printedRows.map((_, index) => index);
  const heightBefore = items[0]?.start ?? 0;
  const heightAfter = scrolls ? virtualizer.getTotalSize() - (items[items.length - 1]?.end ?? 0) : 0;

  const text = () => tableCsv([...rows.map((row) => row.original), ...tail], props.columns);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setCopyStatus("copied");
    } catch {
      setCopyStatus("the browser refused");
    }
    setTimeout(() => setCopyStatus(""), 2000);
  };
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text()], { type: "text/csv" }));
    link.download = `${props.name.replace(/[^\w.-]+/g, "_")}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  };

  const drawCells = (row: T) =>
    columns.map((column, i) => <Cell key={column.id} column={column} row={row} table={props} first={i === 0} short={i === 0 && narrow ? scrolls || !!props.onRow : null} />);

  return (
    <div class="table" ref={element} style={minWidth > 0 ? { minWidth: `min(100%, ${minWidth}px)` } : undefined}>
      {props.heading}
      <div class="controls">
        {(rowCount > kMaxRowsWithoutFilter || props.onFilter) && (
          <input
            type="search"
            placeholder="Filter"
            aria-label={`Filter ${props.name}`}
            value={typed}
            onFocus={() => {
              setSearched(true);
              setMinWidth(element.current?.offsetWidth ?? 0);
            }}
            onBlur={() => setSearched(typed !== "")}
            onInput={(event) => {
              setTyped(event.currentTarget.value);
              props.onFilter?.(event.currentTarget.value);
            }}
          />
        )}
        {props.children}
        <span class="fill" />
        <output class="quiet">{copyStatus || (rows.length === props.rows.length ? `${rowCount} ${rowCount === 1 ? "row" : "rows"}` : `${rows.length + tail.length} of ${rowCount} rows`)}</output>
        <button type="button" onClick={copy}>
          Copy
        </button>
        <button type="button" onClick={save}>
          CSV
        </button>
      </div>
      {/* biome-ignore lint: a frame that scrolls must be reachable by the keyboard */}
      <div class={scrolls ? "frame scrolls" : "frame"} ref={scroller} tabIndex={0} role="region" aria-label={props.name}>
        <table ref={tableElement} aria-rowcount={rows.length + tail.length + 1}>
          <thead>
            <tr>
              {table.getFlatHeaders().map((header, index) => {
                const column = columns[index] as Column<T>;
                const order = header.column.getIsSorted();
                return (
                  <th
                    key={column.id}
                    scope="col"
                    class={`${column.numeric ? "number" : ""} ${column.wide ? "wide" : ""}`}
                    aria-sort={order === "asc" ? "ascending" : order === "desc" ? "descending" : "none"}
                  >
                    <button type="button" title={column.hint} onClick={header.column.getToggleSortingHandler()}>
                      {(narrow || printing ? breakable(column.title) : [column.title]).map((part, i) => (i === 0 ? part : [<wbr key={i} />, part]))}
                      <span aria-hidden="true">{order === "asc" ? " ▲" : order === "desc" ? " ▼" : ""}</span>
                    </button>
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {heightBefore > 0 && (
              <tr aria-hidden="true">
                <td colSpan={columns.length} style={{ height: heightBefore, padding: 0, border: 0 }} />
              </tr>
            )}
            {rowIndices.map((index) => {
              const row = rows[index];
              if (!row) return null;
              return (
                <tr key={row.id} class={props.onRow ? "choose" : props.rowClass?.(row.original)} onClick={() => props.onRow?.(row.original)}>
                  {drawCells(row.original)}
                </tr>
              );
            })}
            {heightAfter > 0 && (
              <tr aria-hidden="true">
                <td colSpan={columns.length} style={{ height: heightAfter, padding: 0, border: 0 }} />
              </tr>
            )}
          </tbody>
          {tail.length > 0 && (
            <tfoot>
              {tail.map((row, index) => (
                <tr key={index} class={props.rowClass?.(row)}>
                  {drawCells(row)}
                </tr>
              ))}
            </tfoot>
          )}
        </table>
      </div>
      {printing && printedRows.length < rows.length && (
        <p class="quiet">
          {printedRows.length} of {rows.length} rows; the CSV has all.
        </p>
      )}
    </div>
  );
}

// Returns the value after it has been stable for `delay` milliseconds, so that typing stays fluent while the table is
// filtered.
function useDebounced<T>(value: T, delay: number): T {
  const [stable, setStable] = useState(value);
  useEffect(() => {
    if (value === stable) return;
    const timer = setTimeout(() => setStable(value), delay);
    return () => clearTimeout(timer);
  }, [value, stable, delay]);
  return stable;
}

// Returns the text that the filter searches in each row: all values as stored and as shown, in lower case. The texts are
// made when the reader first focuses the filter.
function useSearchTexts<T>(rows: T[], columns: Column<T>[], needed: boolean): string[] {
  const cellText = (column: Column<T>, row: T) => {
    const text = column.text?.(row);
    return `${column.value(row) ?? ""}\n${typeof text === "string" ? text : ""}`;
  };
  return useMemo(
    () => (needed ? rows.map((row) => columns.map((column) => cellText(column, row)).join("\n").toLowerCase()) : []),
    [rows, columns, needed],
  );
}

// Splits a name where a line of a printed cell may break: behind punctuation, never within a word or a number.
export function breakable(text: string): string[] {
  return text.replaceAll("->", "→").split(/(?<=[._/:,|](?=\w))(?<!\d[.,](?=\d))|(?<=[a-z])(?=[A-Z][a-z])/);
}
const kMaxWordLength = 30; // letters; longer words are broken, because they would push other columns off the paper

// `short`: null if the whole name is shown, else whether it has to fit into two lines.
function Cell<T>({ column, row, table, first, short }: { column: Column<T>; row: T; table: TableProps<T>; first: boolean; short: boolean | null }) {
  const fullContent = column.text ? column.text(row) : (column.value(row) ?? "—");
  const name = short !== null && typeof fullContent === "string" ? shortName(fullContent, short) : fullContent;
  const parts = usePrinting() && typeof fullContent === "string" && !column.numeric ? breakable(fullContent) : null;
  const content = parts ? parts.flatMap((part, i) => (i === 0 ? [part] : [<wbr key={i} />, part])) : name;
  const length = column.bar?.(row);
  const depth = column.depth?.(row);
  const body =
    first && table.onRow ? (
      <button
        type="button"
        class="link"
        onClick={(event) => {
          event.stopPropagation();
          table.onRow?.(row);
        }}
      >
        {content}
      </button>
    ) : short !== null ? (
      <span class="name">{content}</span>
    ) : (
      content
    );
  const tooltip = typeof fullContent === "string" && !column.numeric ? fullContent : undefined;
  const hasLongWord = parts?.some((part) => part.split(" ").some((word) => word.length > kMaxWordLength));
  return (
    <td
      class={`${column.numeric ? "number" : ""} ${column.wide ? "wide" : ""} ${hasLongWord ? "long" : ""} ${column.tone?.(row) ?? ""}`}
      style={depth ? { paddingLeft: `calc(10px + ${depth} * var(--indent))` } : undefined}
      title={tooltip}
    >
      {length !== null && length !== undefined && <Bar length={length} />}
      {body}
    </td>
  );
}
