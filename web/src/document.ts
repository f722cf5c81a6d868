// Documents (docs/schema/document.schema.json): what etprof says of any subject, as data. The page draws them and knows
// none of the subjects.
import type { Field } from "./table";
import type { Cell, Document, Part, Row, Table } from "../schema/document";

export type { Cell, Document, Part, Row, Table };
export type Section = Document["sections"][number];
export type List = NonNullable<Part["list"]>;
export type FactList = NonNullable<Part["facts"]>;
export type Series = NonNullable<Part["chart"]>["series"][number];
export type Mark = NonNullable<NonNullable<Part["chart"]>["marks"]>[number];

// A column without a title belongs to the one before it; read alone, it needs one: "avx", "" of "avx_over_below" is
// "over below".
export function titleOf(table: Table, index: number): string {
  const { id, title } = table.columns[index] as Table["columns"][number];
  const before = `${table.columns[index - 1]?.id}_`;
  return title || (id.startsWith(before) ? id.slice(before.length) : id).replaceAll("_", " ");
}

// What rows are sorted by.
export function sortValue(cell: Cell | undefined): number | string | null {
  if (!cell || cell.kind === "nothing") return null;
  return cell.value ?? cell.low ?? (cell.kind === "text" && cell.text !== "" ? cell.text : null);
}

// Times are exported in milliseconds, as `etprof ... --csv` has them.
function exported(cell: Cell): { value: number | string | null; unit: string | undefined } {
  if (cell.kind === "text") return { value: cell.text, unit: undefined };
  return { value: inUnit(cell, cell.value), unit: cell.unit === "ns" ? "ms" : cell.unit };
}
const inUnit = (cell: Cell, value: number | null | undefined): number | null =>
  value === undefined || value === null ? null : cell.unit === "ns" ? value / 1e6 : value;

// The columns of CSV that a column of a table needs, by the same names as those of `etprof ... --csv TABLE`: the unit,
// the verdict, and the bounds stand beside the value.
export function fieldsOf(table: Table, index: number): Field<Row>[] {
  const id = table.columns[index]?.id ?? "";
  const of = (row: Row): Cell => row.cells[index] as Cell;
  const fields: [string, (cell: Cell) => boolean, (cell: Cell) => number | string | null][] = [
    ["", (cell) => cell.kind !== "interval" && cell.kind !== "nothing", (cell) => exported(cell).value],
    ["_unit", (cell) => exported(cell).unit !== undefined, (cell) => exported(cell).unit ?? null],
    ["_verdict", (cell) => cell.verdict !== undefined, (cell) => cell.verdict ?? null],
    ["_efficiency", (cell) => cell.efficiency !== undefined, (cell) => cell.efficiency ?? null],
    ["_low", (cell) => bounds(cell), (cell) => (bounds(cell) ? inUnit(cell, cell.low) : null)],
    ["_high", (cell) => bounds(cell), (cell) => (bounds(cell) ? inUnit(cell, cell.high) : null)],
  ];
  const needed = fields.filter(([, has]) => table.rows.some((row) => has(of(row))));
  return (needed.length > 0 ? needed : fields.slice(0, 1)).map(([suffix, , value]) => ({ title: id + suffix, value: (row) => value(of(row)) }));
}
// A speedup's stand in a column of their own.
const bounds = (cell: Cell): boolean => cell.low !== undefined && cell.kind !== "speedup";

// Rows that sort, and those below them that do not: the first sum, which they add up to, and what follows it.
export function withTail(rows: Row[]): { rows: Row[]; tail: Row[] } {
  const sum = rows.findIndex((row) => row.role === "sum");
  return sum < 0 ? { rows, tail: [] } : { rows: rows.slice(0, sum), tail: rows.slice(sum) };
}

// "Operators of a and b" -> "operators-of-a-and-b", what the address calls a section; no two of `titles` the same.
export function slugsOf(titles: string[]): string[] {
  const taken = new Set(["notes"]); // of the document
  return titles.map((title) => {
    const slug =
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_.]+/gu, "-")
        .replace(/^-|-$/g, "")
        .slice(0, 60) || "section";
    let own = slug;
    for (let i = 2; taken.has(own); i++) own = `${slug}-${i}`;
    taken.add(own);
    return own;
  });
}

export const tablesOf = (section: Section): Table[] => section.parts.flatMap(({ table }) => (table && table.rows.length > 0 ? [table] : []));

// What each table is called in the name of its exported file and by screen readers, which list them without what is around:
// no two the same. With the section's title where the section is not folded, or where other tables have the same name.
export function tableNames(sections: Section[]): Map<Table, string> {
  const tables = sections.flatMap((section) => tablesOf(section).map((table) => ({ table, section })));
  const nameOf = (table: Table, title: string | undefined): string => {
    const own = table.title ?? table.id;
    return !title || title === own ? own : `${title}: ${own}`;
  };
  const short = tables.map(({ table, section }) => nameOf(table, section.level === "folded" ? undefined : section.title));
  const long = tables.map(({ table, section }, i) => (short.indexOf(short[i] as string) === short.lastIndexOf(short[i] as string) ? (short[i] as string) : nameOf(table, section.title)));
  const taken = new Set<string>();
  return new Map(
    tables.map(({ table }, i) => {
      let name = long[i] as string;
      for (let n = 2; taken.has(name); n++) name = `${long[i]} (${n})`;
      taken.add(name);
      return [table, name];
    }),
  );
}

// What a section is called where it has no title: as the first of its tables.
export const nameOfSection = (section: Section): string => section.title ?? tablesOf(section)[0]?.title ?? "";
// "Roofline" of "Roofline: one".
export const kindOf = (title: string): string => title.split(": ")[0] as string;

const kNothing: Cell = { kind: "nothing", text: "" };

// The columns of a pair that stand side by side with those of others: both variants, and how they compare.
const kVariants = ["baseline", "candidate"];
const kVerdicts = ["speedup", "change"];

// One table of several pairs with the same rows. What is equal in two pairs, such as a common baseline, is there once.
function merged(tables: Table[], title: string): Table {
  const named = new Map<string, Row>();
  for (const part of ["rows", "tail"] as const)
    for (const row of tables.flatMap((table) => withTail(table.rows)[part])) if (!named.has(row.cells[0]?.text ?? "")) named.set(row.cells[0]?.text ?? "", row);
  const first = tables[0] as Table;
  const columns = first.columns.slice(0, 1);
  const cells = [...named.values()].map((row) => row.cells.slice(0, 1));
  const taken = new Set<string>();
  tables.forEach((table, at) => {
    const rows = new Map(table.rows.map((row) => [row.cells[0]?.text, row]));
    const [baseline, candidate] = kVariants.map((id) => table.columns.find((column) => column.id === id)?.title);
    table.columns.forEach((column, i) => {
      if (![...kVariants, ...kVerdicts].includes(column.id)) return;
      const own = [...named.keys()].map((name) => rows.get(name)?.cells[i] ?? kNothing);
      const heading = kVerdicts.includes(column.id) ? `${candidate} vs ${baseline}` : column.title;
      const all = [heading, ...own.map((cell) => cell.text)].join("\n");
      if (taken.has(all)) return;
      taken.add(all);
      columns.push({ ...column, id: `${column.id}_${at + 1}`, title: heading });
      own.forEach((cell, n) => cells[n]?.push(cell));
    });
  });
  return { ...first, title, columns, rows: [...named.values()].map((row, n) => ({ ...row, cells: cells[n] as Cell[] })) };
}

// Pairs that follow each other with a table each of the same rows: side by side in one table, and then each by itself, folded.
export function sideBySide(sections: Section[]): Section[] {
  const alike = (section: Section): string | null => {
    const [table, ...others] = tablesOf(section);
    if (!table || others.length > 0 || section.level === "folded" || table.level === "folded" || !nameOfSection(section).includes(": ")) return null;
    const names = table.rows.map((row) => row.cells[0]?.text);
    const is_pair = kVariants.every((id) => table.columns.some((column) => column.id === id));
    return is_pair && new Set(names).size === names.length ? `${kindOf(nameOfSection(section))} ${table.id}` : null;
  };
  const made: Section[] = [];
  for (let at = 0; at < sections.length; ) {
    const section = sections[at] as Section;
    const kind = alike(section);
    let end = at + 1;
    while (kind !== null && end < sections.length && alike(sections[end] as Section) === kind) end++;
    const run = sections.slice(at, end);
    if (run.length > 1) made.push({ level: section.level, appendix: section.appendix, parts: [{ table: merged(run.flatMap(tablesOf), kindOf(nameOfSection(section))) }] });
    for (const one of run) {
      const parts = one.parts.map((part) => (part.table ? { ...part, table: { ...part.table, title: undefined } } : part));
      made.push(run.length > 1 ? { ...one, level: "folded", title: nameOfSection(one), parts } : one);
    }
    at = end;
  }
  return made;
}
