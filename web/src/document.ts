// A document (docs/schema/document.schema.json) holds the texts and tables of one result as data. The page draws
// documents without knowing their subjects.
import type { Field } from "./table";
import type { Cell, Document, Part, Row, Table } from "../schema/document";

export type { Cell, Document, Part, Row, Table };
export type Section = Document["sections"][number];
export type List = NonNullable<Part["list"]>;
export type FactList = NonNullable<Part["facts"]>;
export type Series = NonNullable<Part["chart"]>["series"][number];
export type Mark = NonNullable<NonNullable<Part["chart"]>["marks"]>[number];

// A column without a title belongs to the column before it. Where the column stands alone, its title comes from its id:
// behind the column "avx", the column "avx_over_below" is titled "over below".
export function columnTitle(table: Table, index: number): string {
  const { id, title } = table.columns[index] as Table["columns"][number];
  const prefix = `${table.columns[index - 1]?.id}_`;
  return title || (id.startsWith(prefix) ? id.slice(prefix.length) : id).replaceAll("_", " ");
}

// Returns the value by which rows are sorted.
export function sortValue(cell: Cell | undefined): number | string | null {
  if (!cell || cell.kind === "nothing") return null;
  return cell.value ?? cell.low ?? (cell.kind === "text" && cell.text !== "" ? cell.text : null);
}

// Times are exported in milliseconds, as `etprof ... --csv` has them.
function exportedValue(cell: Cell): { value: number | string | null; unit: string | undefined } {
  if (cell.kind === "text") return { value: cell.text, unit: undefined };
  return { value: inExportUnit(cell, cell.value), unit: cell.unit === "ns" ? "ms" : cell.unit };
}
const inExportUnit = (cell: Cell, value: number | null | undefined): number | null =>
  value === undefined || value === null ? null : cell.unit === "ns" ? value / 1e6 : value;

// Returns the CSV columns of one table column: the value, and, where rows have them, its unit, verdict, efficiency, and
// bounds. Their names are the same as in `etprof ... --csv TABLE`.
export function csvFields(table: Table, index: number): Field<Row>[] {
  const id = table.columns[index]?.id ?? "";
  const cellIn = (row: Row): Cell => row.cells[index] as Cell;
  const fields: [string, (cell: Cell) => boolean, (cell: Cell) => number | string | null][] = [
    ["", (cell) => cell.kind !== "interval" && cell.kind !== "nothing", (cell) => exportedValue(cell).value],
    ["_unit", (cell) => exportedValue(cell).unit !== undefined, (cell) => exportedValue(cell).unit ?? null],
    ["_verdict", (cell) => cell.verdict !== undefined, (cell) => cell.verdict ?? null],
    ["_efficiency", (cell) => cell.efficiency !== undefined, (cell) => cell.efficiency ?? null],
    ["_low", (cell) => hasBounds(cell), (cell) => (hasBounds(cell) ? inExportUnit(cell, cell.low) : null)],
    ["_high", (cell) => hasBounds(cell), (cell) => (hasBounds(cell) ? inExportUnit(cell, cell.high) : null)],
  ];
  const needed = fields.filter(([, has]) => table.rows.some((row) => has(cellIn(row))));
  return (needed.length > 0 ? needed : fields.slice(0, 1)).map(([suffix, , value]) => ({ title: id + suffix, value: (row) => value(cellIn(row)) }));
}
// A speedup has no bounds of its own, because they are in a separate column.
const hasBounds = (cell: Cell): boolean => cell.low !== undefined && cell.kind !== "speedup";

// Splits rows into those that sort and the tail, which does not: the first sum and all rows below it.
export function splitTail(rows: Row[]): { rows: Row[]; tail: Row[] } {
  const sum = rows.findIndex((row) => row.role === "sum");
  return sum < 0 ? { rows, tail: [] } : { rows: rows.slice(0, sum), tail: rows.slice(sum) };
}

// Returns a unique slug for each title, for the page's address: "Operators of a and b" -> "operators-of-a-and-b".
export function makeSlugs(titles: string[]): string[] {
  const usedSlugs = new Set(["notes"]); // the slug of the document's own notes
  return titles.map((title) => {
    const slug =
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_.]+/gu, "-")
        .replace(/^-|-$/g, "")
        .slice(0, 60) || "section";
    let uniqueSlug = slug;
    for (let i = 2; usedSlugs.has(uniqueSlug); i++) uniqueSlug = `${slug}-${i}`;
    usedSlugs.add(uniqueSlug);
    return uniqueSlug;
  });
}

export const tablesOf = (section: Section): Table[] => section.parts.flatMap(({ table }) => (table && table.rows.length > 0 ? [table] : []));

// Returns a unique name for each table, for its exported file and for screen readers, which list tables without their
// context. The name contains the section's title if the section is not folded or if another table has the same name.
export function tableNames(sections: Section[]): Map<Table, string> {
  const tables = sections.flatMap((section) => tablesOf(section).map((table) => ({ table, section })));
  const makeName = (table: Table, title: string | undefined): string => {
    const ownTitle = table.title ?? table.id;
    return !title || title === ownTitle ? ownTitle : `${title}: ${ownTitle}`;
  };
  const shortNames = tables.map(({ table, section }) => makeName(table, section.level === "folded" ? undefined : section.title));
  const longNames = tables.map(({ table, section }, i) => (shortNames.indexOf(shortNames[i] as string) === shortNames.lastIndexOf(shortNames[i] as string) ? (shortNames[i] as string) : makeName(table, section.title)));
  const usedNames = new Set<string>();
  return new Map(
    tables.map(({ table }, i) => {
      let name = longNames[i] as string;
      for (let n = 2; usedNames.has(name); n++) name = `${longNames[i]} (${n})`;
      usedNames.add(name);
      return [table, name];
    }),
  );
}

// A section without a title has the name of its first table.
export const sectionName = (section: Section): string => section.title ?? tablesOf(section)[0]?.title ?? "";
// "Roofline: one" -> "Roofline".
export const sectionKind = (title: string): string => title.split(": ")[0] as string;

const kNothing: Cell = { kind: "nothing", text: "" };

// The columns of a pair that the merged table repeats for each pair: both variants and their comparison.
const kVariants = ["baseline", "candidate"];
const kVerdicts = ["speedup", "change"];

// Merges the tables of several pairs with the same rows into one table. Columns that are equal in two pairs, such as
// those of a common baseline, appear once.
function mergePairTables(tables: Table[], title: string): Table {
  const rowsByName = new Map<string, Row>();
  for (const part of ["rows", "tail"] as const)
    for (const row of tables.flatMap((table) => splitTail(table.rows)[part])) if (!rowsByName.has(row.cells[0]?.text ?? "")) rowsByName.set(row.cells[0]?.text ?? "", row);
  const first = tables[0] as Table;
  const columns = first.columns.slice(0, 1);
  const cells = [...rowsByName.values()].map((row) => row.cells.slice(0, 1));
  const usedTexts = new Set<string>();
  tables.forEach((table, tableIndex) => {
    const rows = new Map(table.rows.map((row) => [row.cells[0]?.text, row]));
    const [baseline, candidate] = kVariants.map((id) => table.columns.find((column) => column.id === id)?.title);
    table.columns.forEach((column, i) => {
      if (![...kVariants, ...kVerdicts].includes(column.id)) return;
      const columnCells = [...rowsByName.keys()].map((name) => rows.get(name)?.cells[i] ?? kNothing);
      const heading = kVerdicts.includes(column.id) ? `${candidate} vs ${baseline}` : column.title;
      const text = [heading, ...columnCells.map((cell) => cell.text)].join("\n");
      if (usedTexts.has(text)) return;
      usedTexts.add(text);
      columns.push({ ...column, id: `${column.id}_${tableIndex + 1}`, title: heading });
      columnCells.forEach((cell, n) => cells[n]?.push(cell));
    });
  });
  return { ...first, title, columns, rows: [...rowsByName.values()].map((row, n) => ({ ...row, cells: cells[n] as Cell[] })) };
}

// Adds a merged table before consecutive sections that each show a pair in a table of the same kind. The sections
// themselves follow, folded.
export function sideBySide(sections: Section[]): Section[] {
  const pairKind = (section: Section): string | null => {
    const [table, ...others] = tablesOf(section);
    if (!table || others.length > 0 || section.level === "folded" || table.level === "folded" || !sectionName(section).includes(": ")) return null;
    const names = table.rows.map((row) => row.cells[0]?.text);
    const isPair = kVariants.every((id) => table.columns.some((column) => column.id === id));
    return isPair && new Set(names).size === names.length ? `${sectionKind(sectionName(section))} ${table.id}` : null;
  };
  const result: Section[] = [];
  for (let begin = 0; begin < sections.length; ) {
    const section = sections[begin] as Section;
    const kind = pairKind(section);
    let end = begin + 1;
    while (kind !== null && end < sections.length && pairKind(sections[end] as Section) === kind) end++;
    const run = sections.slice(begin, end);
    if (run.length > 1) result.push({ level: section.level, appendix: section.appendix, parts: [{ table: mergePairTables(run.flatMap(tablesOf), sectionKind(sectionName(section))) }] });
    for (const pairSection of run) {
      const parts = pairSection.parts.map((part) => (part.table ? { ...part, table: { ...part.table, title: undefined } } : part));
      result.push(run.length > 1 ? { ...pairSection, level: "folded", title: sectionName(pairSection), parts } : pairSection);
    }
    begin = end;
  }
  return result;
}
