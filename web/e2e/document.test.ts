// Compares the page of documents (`etprof kernels --html`, `etprof check --html`) with etprof's other output of them.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Cell, Document, Part, Row } from "../src/document";
import { closeBrowser, described, exported, kEtprof, kHostile, kRoot, lacking, open, violations } from "./browser";
import { pagesOf } from "./pdf";

const kLog = join(kRoot, "tests/data/toy_cnn.t1.log");
const kLongName = "− module.bert.encoder.layer.1.attention.self Where";
const kTable = "toy_cnn.t1: Operators";

let folder: string;
let kernels: string; // the page of a kernel log
let csv: string; // the table of operators of that log, from `--csv`
let every: string; // a page with all kinds of parts of a document, and with hostile names
let written: Document;

const text = (of: string): Cell => ({ kind: "text", text: of });
const time = (ns: number): Cell => ({ kind: "time", text: (ns / 1e6).toFixed(3), value: ns, unit: "ns" });
const duration = (ns: number): Cell => ({ kind: "duration", text: `${(ns / 1e6).toFixed(2)} ms`, value: ns, unit: "ns" });

function everything(): Document {
  const columns = [
    { id: "name", title: "name, ms", right: false },
    { id: "time", title: "time", right: true },
    { id: "speedup", title: "speedup", right: true },
  ];
  const nothing: Cell = { kind: "nothing", text: "—" };
  const rows = kHostile.map((name, i) => ({ cells: [text(name), time((7 - i) * 1e6), nothing], role: "part" as const, depth: i % 2 }));
  const sum: Row = { cells: [text("all of it"), time(27e6), { kind: "speedup", text: "2.00x", value: 2, low: 1.9, high: 2.1, verdict: "faster", tone: "good" }], role: "sum" };
  const many = Array.from({ length: 300 }, (_, i) => ({ cells: [text(i > 0 ? `row ${i}` : kLongName), time(i * 1e6), nothing] }));
  const headings = Array.from({ length: 14 }, (_, i) => `a_long_heading_${i}`);
  const parts: Part[] = [
    { table: { id: "times", title: "Times", level: "usual", columns, rows: [...rows, sum] } },
    { table: { id: "folded", title: "Folded away", level: "folded", columns, rows: [{ cells: [text("hidden"), time(1e6), nothing] }] } },
    { table: { id: "empty", title: "Empty", level: "usual", columns, rows: [] } },
  ];
  const list = [...kHostile.map((name) => ({ text: name, details: [`detail of ${name}`] })), { text: "use `some.code` (docs/guides/models.md#wrappers)", details: ["as `other.code` does"] }];
  return {
    schema_version: 1,
    title: kHostile[0] as string,
    facts: ["a fact", kHostile[1] as string],
    answers: [{ text: "the answer", rest: "95% CI [1.90, 2.10]", tone: "good" }],
    sections: [
      { title: "Tables", level: "usual", parts },
      { title: "Many rows", level: "usual", parts: [{ table: { id: "many", level: "usual", columns, rows: many } }] },
      { title: "Wide", level: "usual", parts: [{ table: { id: "wide", level: "usual", columns: headings.map((title) => ({ id: title, title, right: true })), rows: [{ cells: headings.map((_, i) => time(i * 1e6)) }] } }] },
      { title: kHostile[3] as string, level: "usual", parts: [{ list: { level: "usual", numbered: true, items: list } }] },
      { title: "Facts", level: "page", parts: [{ facts: { id: "facts", level: "usual", facts: [{ name: "warning", value: kHostile[1] as string }, { name: "warning", value: "other" }] } }] },
      { title: "Chart", level: "page", parts: [{ chart: { points: kHostile, marks: [{ at: 1, text: "+5.0% " + kHostile[0] }], series: [{ name: kHostile[1] as string, values: [duration(1e6), duration(2e6), nothing, duration(3e6)] }] } }] },
      { title: "Series by place", level: "page", parts: [{ chart: { points: ["0", "48", "96"], at: [0, 48, 96], axis: "tokens", series: [{ name: kHostile[1] as string, values: [duration(1e6), duration(2e6), duration(3e6)] }, { name: "other", values: [duration(1e6), nothing, duration(9e6)] }] } }] },
      { title: "Folded section", level: "folded", parts: [{ paragraph: { text: "words that are folded", level: "usual" } }] },
    ],
    notes: ["a note"],
    method: "the method",
  };
}

beforeAll(() => {
  if (lacking) return;
  folder = mkdtempSync(join(tmpdir(), "etprof-document-"));
  kernels = join(folder, "kernels.html");
  csv = execFileSync(kEtprof, ["kernels", kLog, "--html", kernels, "--document", join(folder, "kernels.json"), "--csv", "operators"], { encoding: "utf8" });
  written = JSON.parse(readFileSync(join(folder, "kernels.json"), "utf8"));
  every = join(folder, "every.html");
  const packed = gzipSync(JSON.stringify(everything())).toString("base64");
  writeFileSync(every, readFileSync(kernels, "utf8").replace(/(id="etprof-document"[^>]*>)[^<]*/, `$1${packed}`));
});

afterAll(async () => {
  await closeBrowser();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const table = (page: Page, name: string) => page.locator(".table", { has: page.getByRole("region", { name, exact: true }) });
const firstCells = (page: Page, name: string) => table(page, name).locator("tbody td:first-child").allInnerTexts();

described("the page of a document", () => {
  it("has every table with every text of it", async () => {
    const { page, context, complaints } = await open(kernels);
    expect(await page.locator("h1").innerText()).toBe(written.title);
    expect(await page.locator("nav[aria-label=Views]").count()).toBe(0); // the page has no other view
    const tables = written.sections.flatMap((section) => section.parts.flatMap((part) => (part.table && part.table.rows.length > 0 ? [part.table] : [])));
    expect(tables.length).toBeGreaterThan(2);
    expect(await page.locator("table").count()).toBe(tables.length);
    for (const [i, of] of tables.entries()) {
      // Folded parts have texts, too.
      const rows = await page.locator("table").nth(i).locator("tbody tr").evaluateAll((all) => all.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent)));
      const empty = of.columns.map((_, at) => of.rows.every((row) => row.cells[at]?.text === "")); // columns without text are omitted
      expect(rows).toEqual(of.rows.map((row) => row.cells.flatMap((cell, at) => (empty[at] ? [] : [cell.text]))));
    }
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("exports a table as --csv has it", async () => {
    const { page, context } = await open(kernels);
    const expected = csv.trim().split("\n").map((line) => line.split(",").slice(1).join(",").replaceAll('"', ""));
    const rows = await exported(page, kTable);
    expect(rows.map((row) => row.join(","))).toEqual(expected);
    await context.close();
  });

  for (const colorScheme of ["light", "dark"] as const) {
    it(`has no complaint of the browser or of axe, ${colorScheme}, folded and unfolded`, async () => {
      for (const file of [kernels, every]) {
        const { page, context, complaints } = await open(file, "", { colorScheme });
        expect(await violations(page), file).toEqual([]);
        await page.locator("details").evaluateAll((all) => {
          for (const one of all) (one as HTMLDetailsElement).open = true;
        });
        expect(await violations(page), file).toEqual([]);
        expect(complaints).toEqual([]);
        await context.close();
      }
    });
  }

  it("sorts by values, keeps the sum below, and finds what is printed", async () => {
    const { page, context } = await open(every);
    const times = () => table(page, "Tables: Times").locator("tbody td:nth-child(2)").allInnerTexts();
    const sum = table(page, "Tables: Times").locator("tfoot td");
    const head = table(page, "Tables: Times").getByRole("button", { name: "time", exact: true });
    await head.click();
    expect(await times()).toEqual(["7.000", "6.000", "5.000", "4.000", "3.000", "2.000"]);
    await head.focus();
    await page.keyboard.press("Enter");
    expect(await times()).toEqual(["2.000", "3.000", "4.000", "5.000", "6.000", "7.000"]);
    expect(await sum.allInnerTexts()).toEqual(["all of it", "27.000", "2.00x"]);
    // A table with few rows has no filter.
    expect(await table(page, "Tables: Times").getByRole("searchbox").count()).toBe(0);
    const many = table(page, "Many rows: many");
    const width = async () => (await many.boundingBox())?.width;
    const before = await width();
    await many.getByRole("searchbox").fill("299.000");
    await expect.poll(() => firstCells(page, "Many rows: many")).toEqual(["row 299"]);
    expect(await width()).toBe(before); // otherwise the buttons would move away from the pointer
    const rows = await exported(page, "Tables: Times");
    expect(rows[0]).toEqual(["name", "time", "time_unit", "speedup", "speedup_verdict"]);
    expect(rows.at(-1)).toEqual(["all of it", "27", "ms", "2", "faster"]);
    await context.close();
  });

  it("shows code in lists as code, and paths of the documentation without a link", async () => {
    const { page, context } = await open(every);
    const item = page.locator("ol > li").last();
    expect(await item.locator("code").allTextContents()).toEqual(["some.code", "docs/guides/models.md#wrappers", "other.code"]);
    expect(await item.textContent()).toBe("use some.code (docs/guides/models.md#wrappers)as other.code does");
    expect(await item.locator("a").count()).toBe(0);
    await context.close();
  });

  it("leads to its sections, by the keyboard and by the address", async () => {
    const { page, context } = await open(every);
    await page.getByRole("link", { name: "Chart" }).focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toContain("at=chart");
    const inView = (of: Page) => of.locator("#at-chart h2").evaluate((one) => one.getBoundingClientRect().top >= 0 && one.getBoundingClientRect().bottom <= innerHeight);
    await expect.poll(() => inView(page)).toBe(true);
    await page.evaluate(() => scrollTo(0, 0));
    await expect.poll(() => inView(page)).toBe(false);
    await page.getByRole("link", { name: "Chart" }).click(); // the address already names this section
    await expect.poll(() => inView(page)).toBe(true);
    const again = await context.newPage();
    await again.goto(page.url());
    await again.locator("#at-chart").waitFor();
    await expect.poll(() => inView(again)).toBe(true);
    const folded = await context.newPage();
    await folded.goto(`${page.url().split("#")[0]}#any?at=folded-section`);
    await folded.getByText("words that are folded").waitFor(); // the section is now open
    await context.close();
  });

  it("shows hostile names as text, and runs nothing", async () => {
    const { page, context, complaints } = await open(every);
    expect(await page.title()).toContain(kHostile[0]);
    expect(await firstCells(page, "Tables: Times")).toEqual(kHostile);
    const drawn = (await page.locator("main .chart svg").allTextContents()).join("\n");
    expect(drawn).toContain(`+5.0% ${kHostile[0]}`); // the marker of a change
    expect(drawn).toContain((kHostile[0] as string).split(", ")[0]); // the label on the axis
    await page.locator("main .chart svg").first().hover({ position: { x: 400, y: 60 } });
    await page.locator("main .chart div", { hasText: "onerror" }).first().waitFor(); // the tooltip appears
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked)).toBeUndefined();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1280);
    expect((await exported(page, "Tables: Times")).flat()).toContain("'=1+2");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("fits a phone: only tables scroll sideways", async () => {
    for (const file of [kernels, every]) {
      const { page, context } = await open(file, "", { viewport: { width: 360, height: 740 } });
      expect(await page.evaluate(() => document.documentElement.scrollWidth), file).toBeLessThanOrEqual(360);
      await context.close();
    }
  });

  it("breaks headings on a phone, but not on a wide screen, where their table scrolls sideways", async () => {
    const { page, context } = await open(every, "", { viewport: { width: 1400, height: 850 } });
    const heading = table(page, "Wide: wide").locator("th button").nth(1);
    const height = async () => (await heading.boundingBox())?.height;
    expect(await height()).toBeLessThan(36);
    await page.setViewportSize({ width: 400, height: 850 });
    await expect.poll(height).toBeGreaterThan(36);
    expect((await heading.boundingBox())?.width).toBeLessThanOrEqual(88);
    await context.close();
  });

  it("keeps on a phone the end of a name, which distinguishes it", async () => {
    const { page, context } = await open(every, "", { viewport: { width: 400, height: 850 } });
    const name = table(page, "Many rows: many").locator("tbody td .name").first();
    expect(await name.innerText()).toMatch(/^− ….*[.]attention[.]self Where$/);
    expect(await name.evaluate((one) => one.scrollHeight <= one.clientHeight && one.scrollWidth <= one.clientWidth)).toBe(true); // not clipped
    expect(await table(page, "Many rows: many").locator("tbody td").first().getAttribute("title")).toBe(kLongName);
    await page.setViewportSize({ width: 1280, height: 850 });
    await expect.poll(() => firstCells(page, "Many rows: many").then(([first]) => first)).toBe(kLongName);
    await context.close();
  });

  it("prints all of it, what is folded too, in the width of the paper", async () => {
    for (const file of [kernels, every]) {
      const { page, context, complaints } = await open(file, "", { colorScheme: "dark" });
      await page.locator("main h2").first().waitFor();
      const folded = await page.locator("details:not([open])").count();
      expect(folded).toBeGreaterThan(0);
      const pages = pagesOf(await page.pdf({ format: "A4" }));
      for (const [i, of] of pages.entries()) expect(of.length, `${file}, page ${i + 1} of ${pages.length}`).toBeGreaterThan(30);
      const all = pages.join("");
      const last = await page.locator("main table tbody").evaluateAll((bodies) => bodies.map((body) => body.querySelector("tr:last-child td")?.textContent ?? ""));
      if (file === kernels) for (const cell of last) expect(all).toContain(cell.replace(/\s/g, ""));
      else for (const words of ["theanswer", "allofit", "hidden", "wordsthatarefolded", "200of300rows;theCSVhasall.", "anote", "themethod"]) expect(all).toContain(words);
      await expect.poll(() => page.locator("details:not([open])").count()).toBe(folded);
      await page.emulateMedia({ media: "print" });
      await page.locator("html.printing").waitFor();
      const right = await page.locator("main *:not(svg *)").evaluateAll((ones) => Math.max(...ones.filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect().right)));
      expect(right, file).toBeLessThanOrEqual(794); // A4 at 96 pixels an inch
      expect(complaints).toEqual([]);
      await context.close();
    }
  });
});
