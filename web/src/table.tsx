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

// A column of a table: what sorts and is exported, and how it looks.
export interface Column<T> {
  id: string;
  title: string;
  hint?: string; // said where the pointer rests on the title
  value: (row: T) => string | number | null;
  order?: (row: T) => number | null; // sorts instead of the value
  text?: (row: T) => ComponentChildren; // default: the value
  numeric?: boolean;
  // A bar behind the text: its length, of 0 to 1.
  bar?: (row: T) => number | null;
  wide?: boolean; // takes what width is left
  unit?: string; // of the value, which the exported heading says
  heading?: string; // of the exported table, where the title alone does not say enough
  fields?: Field<T>[]; // exported instead of the value
  hidden?: boolean; // only exported
  tone?: (row: T) => string; // a class
  depth?: (row: T) => number; // in a tree: how far it is indented
  narrowOrder?: number; // on a phone lower ones come first, behind the first column; default: last
}

const kNarrow = "(max-width: 640px)"; // as in style.css
export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => matchMedia(kNarrow).matches);
  useEffect(() => {
    const query = matchMedia(kNarrow);
    const update = () => setNarrow(query.matches);
    query.addEventListener("change", update);
    return () => query.removeEventListener("change", update);
  }, []);
  return narrow;
}

export function narrowed<T>([first, ...others]: Column<T>[]): Column<T>[] {
  const order = (column: Column<T>) => column.narrowOrder ?? Number.POSITIVE_INFINITY;
  return first ? [first, ...others.sort((a, b) => (order(a) === order(b) ? 0 : order(a) - order(b)))] : [];
}

export interface Field<T> {
  title: string;
  value: (row: T) => string | number | null;
}

// What is exported of a verdict: the ratio with its interval, as it is in analysis_summary.json (above 1: faster), and
// the word.
export function verdictFields<T>(title: string, of: (row: T) => Ratio | null | undefined): Field<T>[] {
  return [
    { title: `${title}: ratio`, value: (row) => of(row)?.ratio ?? null },
    { title: `${title}: low`, value: (row) => of(row)?.ratio_low ?? null },
    { title: `${title}: high`, value: (row) => of(row)?.ratio_high ?? null },
    { title, value: (row) => of(row)?.verdict ?? null },
  ];
}

export function exportedText<T>(rows: T[], columns: Column<T>[]): string {
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
  name: string; // of the exported file, and for screen readers
  sort?: { id: string; descending: boolean };
  filter?: string; // shown at first
  onFilter?: (text: string) => void;
  children?: ComponentChildren; // more controls
  onRow?: (row: T) => void;
  rowLabel?: (row: T) => string;
  tail?: T[]; // the last rows, wherever the others are sorted to
  rowClass?: (row: T) => string;
  heading?: ComponentChildren;
}

// Numbers by their size and texts as people order them: "#9" before "#10". By the values alone: how a column is
// aligned says nothing of its order.
const kOrder = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
export function compareValues(a: string | number, b: string | number): number {
  return typeof a === "number" && typeof b === "number" ? a - b : kOrder.compare(String(a), String(b));
}

const kFewRows = 8; // nobody looks for one of so many
const kRowHeight = 30;
const kMostRowsWhole = 60; // more than these scroll in a frame of their own
const kMostRowsPrinted = 200;

export function DataTable<T>(props: TableProps<T>) {
  const [sorting, setSorting] = useState<SortingState>(
    props.sort ? [{ id: props.sort.id, desc: props.sort.descending }] : [],
  );
  const [typed, setTyped] = useState(props.filter ?? "");
  const filter = useLater(typed, 40);
  const [copied, setCopied] = useState("");
  const narrow = useNarrow();
  const columns = useMemo(() => {
    const shown = props.columns.filter((column) => !column.hidden);
    return narrow ? narrowed(shown) : shown;
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
  // What is filtered out takes no width away, or the buttons would move while somebody types.
  const element = useRef<HTMLDivElement>(null);
  const [least, setLeast] = useState(0);
  const texts = useTexts(props.rows, columns, searched);
  const filtered = useMemo(() => {
    const wanted = filter.toLowerCase();
    return wanted && texts.length > 0 ? props.rows.filter((_, i) => texts[i]?.includes(wanted)) : props.rows;
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
  const all = props.rows.length + tail.length;
  const scroller = useRef<HTMLDivElement>(null);
  const printing = usePrinting();
  const scrolls = !printing && rows.length > kMostRowsWhole;
  // A table that is too wide for the paper is printed smaller: the browser would shrink all pages, and cut off the rest.
  const printed = useRef<HTMLTableElement>(null);
  useLayoutEffect(() => {
    const [frame, table] = [scroller.current, printed.current];
    if (!printing || !frame || !table) return;
    table.style.zoom = String(Math.min(1, frame.clientWidth / table.scrollWidth) || 1);
    return () => table.style.removeProperty("zoom");
  }, [printing]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => kRowHeight,
    overscan: 12,
    enabled: scrolls,
  });
  const items = scrolls ? virtual.getVirtualItems() : [];
  const whole = printing ? rows.slice(0, kMostRowsPrinted) : rows;
  const shown = scrolls ? items.map((item) => item.index) : whole.map((_, index) => index);
  const before = items[0]?.start ?? 0;
  const after = scrolls ? virtual.getTotalSize() - (items[items.length - 1]?.end ?? 0) : 0;

  const text = () =>
    exportedText(
      [...rows.map((row) => row.original), ...tail],
      props.columns,
    );
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setCopied("copied");
    } catch {
      setCopied("the browser refused");
    }
    setTimeout(() => setCopied(""), 2000);
  };
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text()], { type: "text/csv" }));
    link.download = `${props.name.replace(/[^\w.-]+/g, "_")}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  };

  return (
    <div class="table" ref={element} style={least > 0 ? { minWidth: `min(100%, ${least}px)` } : undefined}>
      {props.heading}
      <div class="controls">
        {(all > kFewRows || props.onFilter) && (
          <input
            type="search"
            placeholder="Filter"
            aria-label={`Filter ${props.name}`}
            value={typed}
            onFocus={() => {
              setSearched(true);
              setLeast(element.current?.offsetWidth ?? 0);
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
        <output class="quiet">{copied || (rows.length === props.rows.length ? `${all} ${all === 1 ? "row" : "rows"}` : `${rows.length + tail.length} of ${all} rows`)}</output>
        <button type="button" onClick={copy}>
          Copy
        </button>
        <button type="button" onClick={save}>
          CSV
        </button>
      </div>
      {/* biome-ignore lint: a frame that scrolls must be reachable by the keyboard */}
      <div class={scrolls ? "frame scrolls" : "frame"} ref={scroller} tabIndex={0} role="region" aria-label={props.name}>
        <table ref={printed} aria-rowcount={rows.length + tail.length + 1}>
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
                      {column.title}
                      <span aria-hidden="true">{order === "asc" ? " ▲" : order === "desc" ? " ▼" : ""}</span>
                    </button>
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {before > 0 && (
              <tr aria-hidden="true">
                <td colSpan={columns.length} style={{ height: before, padding: 0, border: 0 }} />
              </tr>
            )}
            {shown.map((index) => {
              const row = rows[index];
              if (!row) return null;
              return (
                <tr key={row.id} class={props.onRow ? "choose" : props.rowClass?.(row.original)} onClick={() => props.onRow?.(row.original)}>
                  {columns.map((column, at) => (
                    <Cell key={column.id} column={column} row={row.original} table={props} first={at === 0} />
                  ))}
                </tr>
              );
            })}
            {after > 0 && (
              <tr aria-hidden="true">
                <td colSpan={columns.length} style={{ height: after, padding: 0, border: 0 }} />
              </tr>
            )}
          </tbody>
          {tail.length > 0 && (
            <tfoot>
              {tail.map((row, index) => (
                <tr key={index} class={props.rowClass?.(row)}>
                  {columns.map((column, at) => (
                    <Cell key={column.id} column={column} row={row} table={props} first={at === 0} />
                  ))}
                </tr>
              ))}
            </tfoot>
          )}
        </table>
      </div>
      {printing && whole.length < rows.length && (
        <p class="quiet">
          {whole.length} of {rows.length} rows; the CSV has all.
        </p>
      )}
    </div>
  );
}

// The value, once it has stayed the same for so long (ms): so that what is typed shows at once, however long it
// takes to act on it.
function useLater<T>(value: T, after: number): T {
  const [later, setLater] = useState(value);
  useEffect(() => {
    if (value === later) return;
    const timer = setTimeout(() => setLater(value), after);
    return () => clearTimeout(timer);
  }, [value, later, after]);
  return later;
}

// What a row is found by: all of its values and what is shown of them, in small letters. Made once, when somebody is about
// to search.
function useTexts<T>(rows: T[], columns: Column<T>[], needed: boolean): string[] {
  const words = (column: Column<T>, row: T) => {
    const text = column.text?.(row);
    return `${column.value(row) ?? ""}\n${typeof text === "string" ? text : ""}`;
  };
  return useMemo(
    () => (needed ? rows.map((row) => columns.map((column) => words(column, row)).join("\n").toLowerCase()) : []),
    [rows, columns, needed],
  );
}

// Where a name may go on in the next line of a printed cell: behind the marks within it, so that no word and no number
// is torn.
export function breakable(text: string): string[] {
  return text.replaceAll("->", "→").split(/(?<=[._/:,|](?=\w))(?<!\d[.,](?=\d))|(?<=[a-z])(?=[A-Z][a-z])/);
}
const kLongWord = 30; // letters; what is longer is torn, or it would push the others off the paper

function Cell<T>({ column, row, table, first }: { column: Column<T>; row: T; table: TableProps<T>; first: boolean }) {
  const given = column.text ? column.text(row) : (column.value(row) ?? "—");
  const parts = usePrinting() && typeof given === "string" && !column.numeric ? breakable(given) : null;
  const content = parts ? parts.flatMap((part, i) => (i === 0 ? [part] : [<wbr key={i} />, part])) : given;
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
    ) : (
      content
    );
  const tip = typeof given === "string" && !column.numeric ? given : undefined;
  const long = parts?.some((part) => part.split(" ").some((word) => word.length > kLongWord));
  return (
    <td
      class={`${column.numeric ? "number" : ""} ${column.wide ? "wide" : ""} ${long ? "long" : ""} ${column.tone?.(row) ?? ""}`}
      style={depth ? { paddingLeft: `calc(10px + ${depth} * 1.2em)` } : undefined}
      title={tip}
    >
      {length !== null && length !== undefined && <Bar length={length} />}
      {body}
    </td>
  );
}
