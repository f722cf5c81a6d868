import { expect, it } from "vitest";
import { type Cell, csvFields, type Row, type Section, sideBySide, makeSlugs, sortValue, type Table, tableNames, columnTitle, splitTail } from "./document";
import { tableCsv } from "./table";

const text = (value: string): Cell => ({ kind: "text", text: value });
const nothing: Cell = { kind: "nothing", text: "—" };
const time: Cell = { kind: "time", text: "2.500", value: 2.5e6, unit: "ns" };
const size: Cell = { kind: "size", text: "2.00 MB", value: 2e6, unit: "bytes" };
const speedup: Cell = { kind: "speedup", text: "2.00x", value: 2, low: 1.9, high: 2.1, verdict: "faster", tone: "good" };
const interval: Cell = { kind: "interval", text: "[1.90, 2.10]", low: 1.9, high: 2.1 };
const change: Cell = { kind: "change", text: "+10 %", value: 0.1, low: 0.09, high: 0.11 };

const table = (...rows: Row[]): Table => ({
  id: "values",
  level: "usual",
  columns: [
    { id: "name", title: "name, ms", right: false },
    { id: "value", title: "value", right: true },
  ],
  rows,
});

function csvOf(table: Table): string {
  const columns = table.columns.map((column, i) => ({ id: column.id, title: column.title, value: (row: Row) => sortValue(row.cells[i]), fields: csvFields(table, i) }));
  return tableCsv(table.rows, columns);
}

it("a table is exported with the columns and the numbers of --csv", () => {
  const rows = [time, size, speedup, interval, change, nothing].map((cell) => ({ cells: [text(cell.kind), cell] }));
  expect(csvOf(table(...rows))).toBe(
    "name,value,value_unit,value_verdict,value_low,value_high\n" +
      "time,2.5,ms,,,\n" +
      "size,2000000,bytes,,,\n" +
      "speedup,2,,faster,,\n" +
      "interval,,,,1.9,2.1\n" +
      "change,0.1,,,0.09,0.11\n" +
      "nothing,,,,,\n",
  );
  expect(csvOf(table({ cells: [text("=1+2"), nothing] }))).toBe("name,value\n'=1+2,\n");
});

it("a column without a title is named by the rest of its id", () => {
  const columns = ["level", "avx", "avx_over_below"].map((id, i) => ({ id, title: i < 1 ? "level, ms" : i < 2 ? "AVX" : "", right: false }));
  const levels: Table = { id: "levels", level: "usual", rows: [], columns: [...columns, { id: "value", title: "", right: false }] };
  expect(levels.columns.map((_, i) => columnTitle(levels, i))).toEqual(["level, ms", "AVX", "over below", "value"]);
});

it("rows sort by value, intervals by their lower bound, and unknown values are null", () => {
  expect([time, speedup, interval, nothing, text("a"), text("")].map(sortValue)).toEqual([2.5e6, 2, 1.9, null, "a", null]);
});

it("sums stay below the rows that they add up", () => {
  const row = (role?: "part" | "sum"): Row => ({ cells: [], role });
  const rows = [row("part"), row("part"), row("sum"), row("part"), row("sum")];
  expect(splitTail(rows)).toEqual({ rows: rows.slice(0, 2), tail: rows.slice(2) });
  expect(splitTail([row()]).tail).toEqual([]);
});

it("section slugs are unique", () => {
  expect(makeSlugs(["Operators of a & b", "", "operators of a / b", "<x>", "日本"])).toEqual(["operators-of-a-b", "section", "operators-of-a-b-2", "x", "日本"]);
});

it("table names for screen readers are unique", () => {
  const makeTable = (id: string, title?: string): Table => ({ ...table({ cells: [text("a"), time] }), id, title });
  const section = (title: string | undefined, level: Section["level"], ...tables: Table[]): Section => ({ title, level, parts: tables.map((table) => ({ table })) });
  const sections = [
    section("Times", "usual", makeTable("times", "Times"), makeTable("layers", "Layers"), makeTable("layers", "Layers")),
    section(undefined, "usual", makeTable("latency")),
    section("Details", "folded", makeTable("details", "All of it")),
    section("Roofline: one", "folded", makeTable("roofline")),
    section("Roofline: other", "folded", makeTable("roofline")),
    section("Empty", "usual", table()),
  ];
  expect([...tableNames(sections).values()]).toEqual(["Times", "Times: Layers", "Times: Layers (2)", "latency", "All of it", "Roofline: one: roofline", "Roofline: other: roofline"]);
});

it("pairs with the same rows are merged into one table with a common baseline once, and then folded", () => {
  const pair = (candidate: string, ...rows: [string, string, string][]): Section => ({
    level: "usual",
    parts: [
      {
        table: {
          id: "self_times",
          title: `Self time: ${candidate} compared with off`,
          level: "usual",
          columns: ["name", "baseline", "candidate", "saved", "speedup"].map((id, i) => ({ id, title: ["name", "off", candidate, "saved", "speedup"][i] as string, right: i > 0 })),
          rows: rows.map(([name, off, on], i) => ({ cells: [text(name), text(off), text(on), text("1"), speedup], ...(i === rows.length - 1 ? { role: "sum" as const } : {}) })),
        },
      },
    ],
  });
  const [first, second] = [pair("a", ["GEMM", "8", "4"], ["Total", "8", "4"]), pair("b", ["GEMM", "8", "2"], ["Copy", "", "1"], ["Total", "8", "3"])];
  const sections = sideBySide([first, second, { title: "Other", level: "usual", parts: [] }] as Section[]);
  expect(sections.map((section) => [section.title ?? section.parts[0]?.table?.title, section.level])).toEqual([
    ["Self time", "usual"],
    ["Self time: a compared with off", "folded"],
    ["Self time: b compared with off", "folded"],
    ["Other", "usual"],
  ]);
  const merged = sections[0]?.parts[0]?.table as Table;
  expect(merged.columns.map((column) => column.title)).toEqual(["name", "off", "a", "a vs off", "b", "b vs off"]);
  expect(merged.rows.map((row) => row.cells.map((cell) => cell.text))).toEqual([
    ["GEMM", "8", "4", "2.00x", "2", "2.00x"],
    ["Copy", "", "", "", "1", "2.00x"],
    ["Total", "8", "4", "2.00x", "3", "2.00x"],
  ]);
  const apart = sideBySide([first, pair("b", ["GEMM", "9", "2"], ["Total", "9", "2"])]);
  expect(apart[0]?.parts[0]?.table?.columns.map((column) => column.title)).toEqual(["name", "off", "a", "a vs off", "off", "b", "b vs off"]);
  expect(sideBySide([first, { ...second, level: "folded" }])).toHaveLength(2);
});
