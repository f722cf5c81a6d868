// Compares report.html, opened from disk in Chromium, with the document and the analysis_summary.json of the same run.
// The measurement is scripted (tests/measure/fake_worker.py, recorded ETDumps), so it is the same on all machines.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { stepColor } from "../src/charts/breakdown";
import { colorOfName } from "../src/colors";
import type { Document, Table } from "../src/document";
import type { Report } from "../src/report";
import { closeBrowser, described, etprof, exported, kHostile, kRoot, lacking, open as openFile, violations } from "./browser";
import { pagesOf } from "./pdf";

const kViews = ["report", "operators", "timeline", "roofline"];
const kModel = join(kRoot, "tests/data/toy_cnn.pte");

let folder: string;
let run: string; // a results directory with two variants
let hostile: string; // the folder of a report whose operators have hostile names
let layered: string; // the folder of the same report with modules, which need an .etrecord that toy_cnn.pte lacks
let ladder: string; // a results directory of `etprof isa`
let report: Report;
let reportDocument: Document; // the report's document

// Returns an experiment in which a script makes each launch a little faster or slower.
function scripted(name: string, etdump: string, ns: number, more: object = {}, environment: Record<string, string> = {}): object {
  const env = { FAKE_STATE: join(folder, `state_${name}`), FAKE_ETDUMP: join(kRoot, "tests/data", etdump), FAKE_LATENCY_NS: String(ns), FAKE_LAUNCH_FACTORS: "1,1.01,1.02,0.99", ...environment };
  return { name, runner_path: join(kRoot, "tests/measure/fake_worker.py"), runs: 10, env, ...more };
}

function measure(name: string, experiments: object[]): string {
  const config = join(folder, `${name}.json`);
  writeFileSync(config, JSON.stringify({ model: kModel, output_root: join(folder, name), launches: 4, rounds: 3, experiments }));
  etprof("run", config);
  return join(folder, name);
}

// Reads the data in an element of a page, and replaces that data.
const inPage = (id: string) => new RegExp(`(id="${id}"[^>]*>)([^<]*)`);
const readData = (page: string, id: string) => JSON.parse(gunzipSync(Buffer.from(inPage(id).exec(page)?.[2] as string, "base64")).toString());
const replaceData = (page: string, id: string, value: unknown) => page.replace(inPage(id), `$1${gzipSync(JSON.stringify(value)).toString("base64")}`);

// The page shows text between backticks as code.
const withoutBackticks = (text: string) => text.replaceAll("`", "");

const tablesOf = (document: Document, id: string): Table[] => document.sections.flatMap((section) => section.parts.flatMap(({ table }) => (table?.id === id ? [table] : [])));

beforeAll(async () => {
  if (lacking) return;
  folder = mkdtempSync(join(tmpdir(), "etprof-page-"));
  run = measure("run", [
    scripted("one", "toy_cnn.avx.t1.etdump", 6_000_000, {}, { FAKE_LOAD_NS: "8000000", FAKE_PEAK_RSS: "21000000" }),
    scripted("other", "toy_cnn.t1.etdump", 2_300_000, {}, { FAKE_LOAD_NS: "9000000", FAKE_PEAK_RSS: "20000000" }),
  ]);
  report = JSON.parse(readFileSync(join(run, "analysis_summary.json"), "utf8"));
  const page = readFileSync(join(run, "report.html"), "utf8");
  reportDocument = readData(page, "etprof-document");

  layered = join(folder, "layered");
  mkdirSync(layered);
  const changed: Report = structuredClone(report);
  for (const experiment of changed.experiments) {
    const whole = experiment.groups?.total_ns ?? 0;
    const layer = { type: "torch.nn.Module", parent: 0, self_ns: 0, operators: 1 };
    const layers = [
      { ...layer, path: "", depth: 0, total_ns: 0.9 * whole },
      { ...layer, path: "features", depth: 1, total_ns: 0.6 * whole },
    ];
    if (experiment.program) experiment.program = { ...experiment.program, layers };
  }
  const modules = structuredClone(tablesOf(reportDocument, "compared_by_category")[0] as Table);
  const wider = <T>(all: T[]) => Array.from({ length: 4 }, () => all).flat();
  const columns = wider(modules.columns).map((column, i) => ({ ...column, id: `${column.id}_${i}` }));
  const wide = { ...modules, id: "wide", columns, rows: modules.rows.map((row) => ({ ...row, cells: wider(row.cells) })) };
  const more = [{ ...modules, id: "compared_by_layer" }, wide].map((table) => ({ title: table.id, level: "page", parts: [{ table }] }));
  const twins = ["a", "b"].map((name) => ({ level: "page", parts: [{ table: { ...(tablesOf(reportDocument, "self_times")[0] as Table), id: "twins", title: `Twins: ${name}` } }] }));
  const document = { ...reportDocument, sections: [...reportDocument.sections, ...more, ...twins] };
  writeFileSync(join(layered, "report.html"), replaceData(replaceData(page, "etprof-report", changed), "etprof-document", document));

  ladder = measure("ladder", [
    scripted("base", "toy_cnn.avx.t1.etdump", 6_000_000, { isa: "none" }, { FAKE_ISA: "" }),
    scripted("fma", "toy_cnn.avx.t1.etdump", 5_300_000, { isa: "all" }, { FAKE_ISA: "fma" }),
    scripted("wide", "toy_cnn.t1.etdump", 2_300_000, { isa: "all" }, { FAKE_ISA: "fma,wide" }),
  ]);

  const rows = ["name,start_us,end_us,run_index"];
  for (let i = 0; i < 4; i++) {
    const at = (us: number) => us + 1000 * i;
    kHostile.forEach((name, n) => rows.push(`"${name.replaceAll('"', '""')}",${at(10 * n + 1)},${at(10 * n + 5)},${i}`));
    rows.push(`DELEGATE_CALL,${at(0)},${at(90)},${i}`, `Method::execute,${at(0)},${at(100)},${i}`);
  }
  const timeline = join(folder, "hostile_exec_all_runs_timeline.csv");
  writeFileSync(timeline, `${rows.join("\n")}\n`);
  hostile = join(folder, "hostile");
  etprof("analyze", timeline, "-o", hostile, "--quiet");
});

afterAll(async () => {
  await closeBrowser();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const open = (folder: string, hash = "", options: Parameters<typeof openFile>[2] = {}, wait?: string) => openFile(join(folder, "report.html"), hash, options, wait);

async function rowCount(page: Page): Promise<number> {
  return Number(await page.locator("table").last().getAttribute("aria-rowcount")) - 1;
}

described("a report opened from disk", () => {
  for (const colorScheme of ["light", "dark"] as const) {
    it(`shows every view, ${colorScheme}, without a complaint of the browser or of axe`, async () => {
      const { page, context, complaints } = await open(run, "", { colorScheme });
      for (const view of kViews) {
        await page.goto(`${page.url().split("#")[0]}#${view}`);
        await page.locator(`nav a[aria-current=page][href="#${view}"]`).waitFor();
        await expect.poll(async () => (await page.locator("main").innerText()).length, { timeout: 30_000 }).toBeGreaterThan(30); // the data is unpacked
        expect(await page.locator("main .warning", { hasText: "could not be drawn" }).count()).toBe(0);
        expect(await violations(page), view).toEqual([]);
      }
      expect(complaints).toEqual([]);
      // The accessibility checker finds a fault that is put into the page.
      await page.evaluate(() => document.querySelector("main")?.append(new Image()));
      expect((await violations(page)).join()).toContain("image-alt");
      await context.close();
    });
  }

  it("says the answer, what it is of, and what there is to be done, as the document has it", async () => {
    const { page, context } = await open(run);
    expect(await page.locator(".headline").allInnerTexts()).toEqual(reportDocument.answers.map((answer) => answer.text));
    expect(await page.locator(".answer").innerText()).toContain(reportDocument.measured);
    const text = (await page.locator("main").textContent()) as string; // includes folded parts
    for (const note of reportDocument.notes) expect(text).toContain(withoutBackticks(note));
    const items = reportDocument.sections.flatMap((section) => section.parts.flatMap(({ list }) => (list?.numbered ? list.items : [])));
    expect(items.length).toBeGreaterThan(1);
    for (const item of items) for (const line of [item.text, ...(item.details ?? [])]) expect(text).toContain(withoutBackticks(line));
    await context.close();
  });

  it("says how well was measured in one line, with details folded", async () => {
    const { page, context } = await open(run, "", { viewport: { width: 1400, height: 900 } });
    const quality = page.locator("#at-notes details:not([open]) > summary");
    const text = await quality.innerText();
    expect(text).toContain(withoutBackticks(reportDocument.notes[0] as string));
    const warnings = reportDocument.notes.filter((note) => note.startsWith("warning: ")).length;
    if (warnings > 0) expect(text).toContain(`${warnings} warning`);
    expect((await quality.boundingBox())?.height).toBeLessThan(30);
    await context.close();
  });

  it("has the medians of analysis_summary.json, and every fact about what was measured", async () => {
    const { page, context } = await open(run);
    const [head, ...rows] = (await exported(page, "Latency")) as [string[], ...string[][]];
    expect(rows.map((row) => Number(row[head.indexOf("median")]))).toEqual(report.experiments.map((e) => e.latency_ms.p50));
    const text = (await page.locator("main").textContent()) as string;
    const summary = JSON.parse(readFileSync(join(run, "analysis_summary.json"), "utf8"));
    const facts = [summary, ...summary.experiments].flatMap((of) => of.conditions);
    expect(facts.length).toBeGreaterThan(10);
    for (const fact of facts) expect(text, fact.name).toContain(withoutBackticks(fact.value));
    await context.close();
  });

  it("leads from a finding to its numbers: a table of the document, or a view that has all of it", async () => {
    const { page, context } = await open(run);
    const finding = (name: string) => page.locator("ol > li", { hasText: name });
    await finding("Convolution").locator("summary").click();
    await finding("Convolution").getByRole("link").click();
    await expect.poll(() => page.url()).toContain("#report?at=self-time-by-group");
    await expect.poll(() => page.locator("#at-self-time-by-group h2").evaluate((one) => one.getBoundingClientRect().top >= 0 && one.getBoundingClientRect().bottom <= innerHeight)).toBe(true);
    await page.locator("#at-most-expensive-operators-other").getByRole("link", { name: "Operators" }).click();
    await page.locator('nav a[aria-current=page][href="#operators"]').waitFor();
    await context.close();
  });

  it("puts findings between the verdict and the first table", async () => {
    const { page, context } = await open(run);
    const top = (of: string) => page.locator(of).first().evaluate((one) => one.getBoundingClientRect().top);
    const tops = [await top(".headline"), await top("ol > li"), await top("table")];
    expect(tops).toEqual([...tops].sort((a, b) => a - b));
    await context.close();
  });

  for (const width of [1400, 400]) {
    it(`keeps its sections in reach and marks the one in view, ${width} px wide`, async () => {
      const { page, context } = await open(run, "", { viewport: { width, height: 800 } });
      const bar = page.locator("nav[aria-label=Sections]");
      const marked = bar.locator("a[aria-current]");
      for (const name of ["Self time by group", "Conditions"]) {
        await bar.getByRole("link", { name, exact: true }).click();
        await expect.poll(() => marked.allInnerTexts()).toEqual([name]);
        const heading = page.locator("h2", { hasText: name }).first();
        const [barBox, linkBox, box] = [await bar.boundingBox(), await marked.boundingBox(), await heading.boundingBox()];
        expect(barBox?.y).toBeLessThan(60); // below the tabs
        expect(box?.y).toBeGreaterThanOrEqual((barBox?.y ?? 0) + (barBox?.height ?? 0));
        expect(linkBox?.x).toBeGreaterThanOrEqual(0);
        expect((linkBox?.x ?? 0) + (linkBox?.width ?? 0)).toBeLessThanOrEqual(width);
      }
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      await expect.poll(() => marked.allInnerTexts()).toEqual([await bar.locator("a").last().innerText()]);
      await page.evaluate(() => scrollTo(0, 0));
      await expect.poll(() => marked.count()).toBe(0);
      await context.close();
    });
  }

  it("shows all sections in its navigation, or on a phone that more follow", async () => {
    const { page, context } = await open(run, "", { viewport: { width: 1400, height: 900 } });
    const bar = page.locator("nav[aria-label=Sections]");
    const hidden = () => bar.locator("a").evaluateAll((all) => all.filter((one) => one.getBoundingClientRect().right > innerWidth || one.getBoundingClientRect().left < 0).length);
    expect(await bar.locator("a").count()).toBeGreaterThan(8);
    expect(await hidden()).toBe(0);
    expect((await bar.boundingBox())?.height).toBeLessThan(70);
    await page.setViewportSize({ width: 400, height: 900 });
    const arrow = () => bar.evaluate((one) => getComputedStyle(one, "::after").content);
    await expect.poll(arrow).toContain("›");
    expect(await hidden()).toBeGreaterThan(0);
    await bar.evaluate((one) => one.scrollTo(10_000, 0));
    await expect.poll(arrow).toBe("none");
    await context.close();
  });

  for (const width of [1400, 400]) {
    it(`has nothing above its navigation wherever the page is scrolled to, ${width} px wide`, async () => {
      const { page, context } = await open(layered, "", { viewport: { width, height: 500 } });
      const covered = await page.evaluate(() => {
        const found: string[] = [];
        for (let y = 0; y < document.documentElement.scrollHeight - innerHeight; y += 40) {
          scrollTo(0, y);
          for (const bar of document.querySelectorAll("nav")) {
            const box = bar.getBoundingClientRect();
            for (const part of [0.1, 0.5, 0.9]) {
              const over = document.elementFromPoint(box.left + part * box.width, box.top + box.height / 2);
              if (!bar.contains(over)) found.push(`${y}: ${over?.tagName} ${over?.textContent?.slice(0, 20)}`);
            }
          }
        }
        return found;
      });
      expect(covered).toEqual([]);
      await context.close();
    });
  }

  it("begins a view at its top, and comes back to where one was", async () => {
    const { page, complaints } = await open(run, "", { viewport: { width: 1280, height: 300 } });
    const place = () => page.evaluate(() => scrollY);
    const link = page.locator("main section p").getByRole("link", { name: "Operators", exact: true }).first();
    await link.scrollIntoViewIfNeeded();
    const left = await place();
    expect(left).toBeGreaterThan(0);
    await link.click();
    await page.getByRole("region", { name: "Operators" }).first().waitFor();
    expect(await place()).toBe(0);
    await page.goBack();
    await expect.poll(place).toBe(left);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("has each chart once, below the first table of its kind", async () => {
    const { page, context } = await open(run);
    const charts = (slug: string) => page.locator(`#at-${slug} .chart`).count();
    expect(await charts("latency")).toBe(2); // the charts of distributions and of bursts
    expect(await charts("self-time-by-group")).toBe(2); // stacked bars and the waterfall
    expect(await page.locator("main .chart").count()).toBe(4);
    await context.close();
  });

  it("colors changes of groups only if they are significant", async () => {
    const { page, context } = await open(run);
    const groups = report.comparisons[0]?.groups.filter((row) => row.delta_numerator_ns !== 0) ?? [];
    const waterfall = page.locator("#at-self-time-by-group .chart").nth(1);
    const bars = (kind: string) => waterfall.locator(`svg path[fill='${stepColor(kind, "light")}']`).count();
    await expect.poll(() => bars("total")).toBe(2);
    for (const verdict of ["faster", "slower"]) expect(await bars(verdict), verdict).toBe(groups.filter((row) => row.verdict === verdict).length);
    expect(await bars("inconclusive")).toBe(groups.filter((row) => row.verdict !== "faster" && row.verdict !== "slower").length);
    await context.close();
  });

  it("has every operator, sorts and filters them, and exports the numbers themselves", async () => {
    const { page, context } = await open(run, "#operators");
    const all = report.comparisons[0]?.operators ?? [];
    const rows = all.filter((row) => row.baseline_ms !== null || row.candidate_ms !== null);
    expect(rows.length).toBeGreaterThan(3);
    expect(await rowCount(page)).toBe(rows.length);
    const changes = (await exported(page, "operators")).slice(1).map((row) => Number(row[7]));
    expect(changes).toEqual([...changes].sort((a, b) => Math.abs(b) - Math.abs(a)));
    expect(changes[0]).toBe(Math.max(...rows.map((row) => Math.abs((row.candidate_ms ?? 0) - (row.baseline_ms ?? 0)))) * Math.sign(changes[0] as number));

    await page.getByRole("button", { name: "Operator" }).click();
    const names = await page.locator("tbody tr td:first-child").allInnerTexts();
    expect(names).toEqual([...names].sort((a, b) => a.localeCompare(b, "en", { numeric: true, sensitivity: "base" })));

    await page.getByRole("searchbox").fill("softmax");
    const expected = rows.filter((row) => row.name.toLowerCase().includes("softmax"));
    expect(expected.length).toBeGreaterThan(0);
    await expect.poll(() => rowCount(page)).toBe(expected.length);
    expect(page.url()).toContain("q=softmax"); // the address holds the filter

    await page.getByRole("searchbox").fill("");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
    const csv = readFileSync(await download.path(), "utf8").trim().split("\n");
    expect(csv.length).toBe(rows.length + 1);
    for (const row of rows) {
      const line = csv.find((one) => one.includes(String(row.candidate_ms)) && one.includes(row.name));
      expect(line, row.name).toBeDefined();
    }
    await context.close();
  });

  it("sorts verdicts by their ratio, up and down, what has none always last", async () => {
    const { page, context } = await open(run, "#operators");
    const all = (report.comparisons[0]?.operators ?? []).filter((row) => row.baseline_ms !== null || row.candidate_ms !== null);
    const ratios = all.map((row) => row.ratio).filter((ratio) => ratio !== null);
    expect(ratios.length).toBeGreaterThan(3);
    for (const sign of [-1, 1]) {
      await page.getByRole("button", { name: "Verdict" }).click();
      const [head, ...rows] = await exported(page, "operators");
      const at = (head as string[]).findIndex((title) => title.startsWith("Verdict"));
      const shown = rows.map((row) => row[at]);
      expect(shown.slice(0, ratios.length).map(Number)).toEqual([...ratios].sort((a, b) => sign * (a - b)));
      expect(shown.slice(ratios.length).join("")).toBe("");
    }
    await context.close();
  });

  it("shows all that is known of an operator, by its address too", async () => {
    const { page, context } = await open(run, "#operators");
    const name = await page.locator("tbody tr td:first-child").first().innerText();
    await page.locator("tbody tr").first().click();
    await page.locator("aside.details").waitFor();
    expect(await page.locator("aside.details").innerText()).toContain(name);
    const address = page.url();
    const again = await context.newPage();
    await again.goto(address);
    await again.locator("aside.details").waitFor();
    expect(await again.locator("aside.details").innerText()).toContain(name);
    await context.close();
  });

  it("leads from an operator to those around it", async () => {
    const operators = report.experiments[0]?.operators ?? [];
    const of = operators.find((op) => op.name.includes("Softmax"));
    expect(of?.program?.producers.length).toBeGreaterThan(0);
    const { page, context } = await open(run, "#operators?q=softmax");
    await page.locator("tbody tr").first().click();
    const links = page.locator("aside.details > div").first().locator(".neighbors a");
    const names = of?.program?.producers.map((key) => operators.find((op) => op.key === key)?.name);
    expect((await links.allInnerTexts()).slice(0, names?.length)).toEqual(names);
    await links.first().click();
    await expect.poll(() => page.locator("aside.details dd").first().innerText()).toBe(names?.[0]);
    await context.close();
  });

  it("exports intervals and verdicts with the numbers, units in the headings, and no heading twice", async () => {
    const { page, context } = await open(run, "#operators");
    const comparison = report.comparisons[0];
    const [head, ...rows] = (await exported(page, "operators")) as [string[], ...string[][]];
    expect(head).toContain(`${comparison?.baseline} (ms)`);
    const at = head.indexOf("Verdict: ratio");
    expect(head.slice(at, at + 4)).toEqual(["Verdict: ratio", "Verdict: low", "Verdict: high", "Verdict"]);
    const told = comparison?.operators.filter((row) => row.ratio_low !== null) ?? [];
    expect(told.length).toBeGreaterThan(0);
    const cells = rows.map((row) => row.slice(at, at + 4).join());
    for (const row of told) expect(cells, row.name).toContain([row.ratio, row.ratio_low, row.ratio_high, row.verdict].join());
    await context.close();
    // Each view gets a new page, because a browser saves only about ten files of one page without asking.
    for (const view of kViews) {
      const { page, context } = await open(run, `#${view}`);
      await page.locator(`nav a[aria-current=page][href="#${view}"]`).waitFor();
      await expect.poll(async () => (await page.locator("main").innerText()).length, { timeout: 30_000 }).toBeGreaterThan(30);
      for (const region of await page.locator("main .frame:visible").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label") as string))) {
        const titles = (await exported(page, region))[0] as string[];
        expect(new Set(titles).size, `${view}, ${region}: ${titles}`).toBe(titles.length);
      }
      await context.close();
    }
  });

  it("has pairs with the same rows side by side, and each by itself folded", async () => {
    const { page, context } = await open(layered);
    const one = tablesOf(reportDocument, "self_times")[0] as Table;
    const rows = await page.getByRole("region", { name: "Twins", exact: true }).locator("tbody tr, tfoot tr").evaluateAll((all) => all.map((row) => row.firstElementChild?.textContent));
    expect(rows).toEqual(one.rows.map((row) => row.cells[0]?.text));
    expect(await page.locator("details:not([open]) > summary", { hasText: "Twins: " }).allInnerTexts()).toEqual(["Twins: a", "Twins: b"]);
    await context.close();
  });

  it("draws modules by their time, and gives every timed operator its share", async () => {
    const { page, context } = await open(layered, "#report?at=modules");
    const pieces = page.locator(".icicle button");
    expect(await pieces.evaluateAll((all) => all.map((one) => (one as HTMLElement).style.width))).toEqual(["100%", expect.stringMatching(/^66\.66/)]);
    const width = (at: number) => pieces.nth(at).evaluate((one) => one.getBoundingClientRect().width);
    expect((await width(1)) / (await width(0))).toBeCloseTo(2 / 3, 2);
    await pieces.nth(1).click();
    await expect.poll(() => pieces.first().evaluate((one) => (one as HTMLElement).style.width)).toBe("100%");
    expect(await pieces.count()).toBe(1);
    await page.getByRole("button", { name: "Whole model" }).click();
    expect(await pieces.count()).toBe(2);
    await page.goto(`${page.url().split("#")[0]}#operators`);
    const shares = await exported(page, "operators");
    const column = (shares[0] as string[]).indexOf("Share of total");
    const all = shares.slice(1).map((row) => Number(row[column]));
    // The self times add up to the whole.
    expect(all.reduce((sum, one) => sum + one, 0)).toBeCloseTo(1, 9);
    await context.close();
  });

  it("shows an operator's time run by run", async () => {
    const { page, context } = await open(run, "#operators?q=softmax");
    await page.locator("tbody tr").first().click();
    const chart = page.locator("aside.details .chart");
    await chart.waitFor();
    // There is one point per run and variant, except for the first run of each process.
    const steady = report.experiments.map((e) => e.operators?.find((op) => op.name.includes("Softmax"))?.self_ms.n ?? 0);
    await expect.poll(() => chart.locator("svg path[fill='#0072b2'], svg path[fill='#d55e00']").count()).toBeGreaterThanOrEqual(steady[0] as number);
    await context.close();
  });

  it("has the spans of the median run of each side, as the timeline CSV has them", async () => {
    const { page, context } = await open(run, "#timeline");
    await page.locator(".lane canvas").first().waitFor();
    expect(await page.locator(".lane canvas").count()).toBe(2);
    const label = report.experiments[0]?.label as string;
    const shown = await page.getByLabel(`Run of ${label}`).locator("option:checked").innerText();
    expect(shown).toContain("the median");
    const index = /^run (\d+):/.exec(shown)?.[1];
    const file = readdirSync(join(run, "one")).find((name) => name.endsWith("_exec_all_runs_timeline.csv")) as string;
    const [head, ...lines] = readFileSync(join(run, "one", file), "utf8").trim().split("\n");
    const columns = (head as string).split(",");
    // Names of this model contain no quotes. Names with commas are quoted.
    const cells = lines.map((line) => (line.match(/("[^"]*"|[^,]*)(,|$)/g) ?? []).map((cell) => cell.replace(/,$/, "").replace(/^"|"$/g, "")));
    const expected = cells
      .filter((row) => row[columns.indexOf("run_index")] === index)
      .map((row) => `${row[columns.indexOf("name")]} ${Number(row[columns.indexOf("duration_ms")])}`);
    expect(expected.length).toBeGreaterThan(5);
    const rows = (await exported(page, `spans of ${label}`)).slice(1);
    expect(rows.map((row) => `${row[0]} ${Number(row[2])}`).sort()).toEqual(expected.sort());
    // The self times add up to the run.
    const whole = rows.find((row) => row[0] === "Method::execute");
    expect(rows.reduce((sum, row) => sum + Number(row[3]), 0)).toBeCloseTo(Number(whole?.[2]), 9);
    await context.close();
  });

  it("zooms and moves through a timeline with Perfetto's keys, the wheel and the mouse", async () => {
    const { page, context, complaints } = await open(run, "#timeline");
    const canvas = page.locator(".lane canvas").first();
    const frame = page.locator(".timeline");
    await canvas.waitFor();
    await page.waitForTimeout(300); // until everything is drawn
    const picture = () => canvas.evaluate((element: HTMLCanvasElement) => element.toDataURL());
    const changes = async (what: () => Promise<unknown>) => {
      const before = await picture();
      await what();
      await expect.poll(async () => (await picture()) !== before).toBe(true);
    };
    const whole = await picture();
    // No element of the timeline has the focus yet.
    expect(await page.evaluate(() => document.activeElement === document.body)).toBe(true);
    await changes(() => page.keyboard.press("w"));
    await changes(() => page.keyboard.press("s"));
    await page.keyboard.press("ArrowDown"); // the key scrolls the page
    expect(await page.locator("aside.details").count()).toBe(0);
    await page.evaluate(() => scrollTo(0, 0));
    await page.getByRole("searchbox").first().focus();
    await page.keyboard.press("d"); // the key types a letter
    expect(await page.getByRole("searchbox").first().inputValue()).toBe("d");
    await page.getByRole("searchbox").first().fill("");
    await expect.poll(picture).toBe(whole);
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.press("Control+d");
    await page.waitForTimeout(100);
    expect(await picture()).toBe(whole);
    await frame.focus();
    await changes(() => page.keyboard.press("w"));
    await changes(() => page.keyboard.press("d"));
    await changes(() => page.keyboard.press("a"));
    await changes(() => page.keyboard.press("s"));
    await page.keyboard.press("f");
    await expect.poll(picture).toBe(whole);
    const box = (await canvas.boundingBox()) as { x: number; y: number; width: number; height: number };
    await page.mouse.move(box.x + box.width / 2, box.y + 10);
    await page.keyboard.down("Control");
    await changes(() => page.mouse.wheel(0, -400));
    await page.keyboard.up("Control");
    await changes(async () => {
      await page.mouse.down();
      await page.mouse.move(box.x + box.width / 2 - 120, box.y + 10, { steps: 4 });
      await page.mouse.up();
    });
    expect(await page.locator("aside.details").count()).toBe(0); // dragging does not select a span
    await page.getByRole("button", { name: "Whole run" }).click();
    await expect.poll(picture).toBe(whole);

    // Keys move the selection to the next span, to its child, and to its parent.
    const chosen = page.locator("aside.details dd").first();
    await frame.focus();
    await page.keyboard.press(".");
    expect(await chosen.innerText()).toBe("Method::execute");
    await page.keyboard.press("ArrowDown");
    const first = await chosen.innerText();
    expect(first).toBe("DELEGATE_CALL");
    await page.keyboard.press("ArrowDown");
    const inside = await chosen.innerText();
    await page.keyboard.press(".");
    expect(await chosen.innerText()).not.toBe(inside);
    await page.keyboard.press(",");
    expect(await chosen.innerText()).toBe(inside);
    // The details of the counterpart in the other variant are next to it.
    expect(await page.locator("aside.details h3").count()).toBe(2);
    await page.keyboard.press("ArrowUp");
    expect(await chosen.innerText()).toBe(first);

    await page.keyboard.press("/");
    await page.keyboard.type("softmax");
    await expect.poll(() => page.locator(".timeline output").innerText()).toBe("2 spans");
    await page.keyboard.press("Enter");
    await expect.poll(() => chosen.innerText()).toContain("Softmax");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.locator(".timeline dl").waitFor();
    // The span under the pointer has a tooltip.
    await page.mouse.move(box.x + box.width / 2, box.y + 5);
    await page.mouse.move(box.x + box.width / 2 + 3, box.y + 6);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("sums up an area of the timelines by type, dragged or shown, and moves by the overview", async () => {
    const { page, context, complaints } = await open(run, "#timeline");
    const canvas = page.locator(".lane canvas").first();
    await canvas.waitFor();
    await page.waitForTimeout(300);
    const picture = () => canvas.evaluate((element: HTMLCanvasElement) => element.toDataURL());
    await page.keyboard.press("r"); // the sums of the whole window
    const sums = async () => (await exported(page, "sums")).slice(1);
    const total = (rows: string[][], at: number) => rows.reduce((sum, row) => sum + Number(row[at]), 0);
    const whole = await sums();
    const execute = (await exported(page, `spans of ${report.experiments[0]?.label}`)).find((row) => row[0] === "Method::execute");
    expect(total(whole, 1)).toBeCloseTo(Number(execute?.[2]), 9);
    for (const [i, one] of report.experiments.entries()) {
      const types = new Set(one.operators?.map((op) => op.type));
      expect(whole.filter((row) => types.has(row[0] as string) && Number(row[2 + 2 * i]) > 0).length, one.label).toBe(types.size);
    }
    await page.keyboard.press("Escape");
    expect(await page.getByRole("complementary", { name: "Sums of an area" }).count()).toBe(0);
    await page.evaluate(() => scrollTo(0, 0));
    const box = (await canvas.boundingBox()) as { x: number; y: number; width: number };
    await page.mouse.move(box.x + box.width / 4, box.y + 10);
    await page.keyboard.down("Shift");
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + 10, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await page.getByRole("complementary", { name: "Sums of an area" }).waitFor();
    expect(await page.locator("aside.details").count()).toBe(1); // only the sums, because no span is selected
    expect(total(await sums(), 1)).toBeLessThan(total(whole, 1));
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "Zoom in" }).click();
    const before = await picture();
    await page.locator("canvas.overview").click({ position: { x: 5, y: 4 } });
    await expect.poll(async () => (await picture()) !== before).toBe(true);
    expect(complaints).toEqual([]);
    await context.close();
  });

  for (const width of [1400, 400]) {
    it(`shows sums and the selected span without scrolling, ${width} px wide`, async () => {
      const { page, context } = await open(run, "#timeline", { viewport: { width, height: 400 } }); // the lanes reach below the screen
      await page.getByRole("button", { name: "Sums" }).click();
      const inView = async (of: Locator) => {
        const box = await of.boundingBox();
        return box !== null && box.y >= 0 && box.y + box.height <= 400;
      };
      await expect.poll(() => inView(page.getByRole("region", { name: "sums" }).locator("th").first())).toBe(true);
      await page.keyboard.press("Escape");
      await page.locator(".lane canvas").first().click({ position: { x: 30, y: 5 } });
      await expect.poll(() => inView(page.getByRole("complementary", { name: "Selected span" }).locator("dd").first())).toBe(true);
      expect(await page.evaluate(() => document.documentElement.scrollHeight - innerHeight - scrollY)).toBeGreaterThan(100);
      await context.close();
    });
  }

  it("shows any run of a timeline, by its address too", async () => {
    const { page, context } = await open(run, "#timeline");
    const runs = page.getByLabel(`Run of ${report.experiments[1]?.label}`);
    await runs.waitFor();
    const other = await runs.locator("option:not(:checked)").first().innerText();
    await runs.selectOption({ label: other });
    await expect.poll(() => page.url()).toContain("run1=");
    const again = await context.newPage();
    await again.goto(page.url());
    await again.getByLabel(`Run of ${report.experiments[1]?.label}`).waitFor();
    expect(await again.getByLabel(`Run of ${report.experiments[1]?.label}`).locator("option:checked").innerText()).toBe(other);
    await context.close();
  });

  it("says so where the address names a run that the file does not hold", async () => {
    const { page, context } = await open(run, "#timeline?run1=4711");
    const lane = page.locator(".lane").nth(1);
    await lane.getByText("run 4711 is not in this file").waitFor();
    expect(await lane.locator("option:checked").innerText()).toContain("the median");
    expect(await page.locator(".lane").first().innerText()).not.toContain("not in this file");
    await context.close();
  });

  it("counts every operator among the kernels, and compares them with the roofs", async () => {
    const { page, context } = await open(run, "#report?at=by-kernel");
    const [head, ...rows] = (await exported(page, "by_kernel")) as [string[], ...string[][]];
    const kinds = new Set(report.experiments.flatMap((e) => e.operators?.map((op) => op.type) ?? []));
    expect(rows.map((row) => row[0]).filter((name) => kinds.has(name as string)).sort()).toEqual([...kinds].sort());
    const total = report.experiments[1]?.operators?.reduce((sum, op) => sum + (op.mean_ms ?? 0), 0);
    expect(rows.filter((row) => kinds.has(row[0] as string)).reduce((sum, row) => sum + Number(row[head.indexOf("candidate")]), 0)).toBeCloseTo(total as number, 9);
    await page.goto(`${page.url().split("#")[0]}#roofline`);
    await page.locator("main .chart").first().waitFor();
    expect(await rowCount(page)).toBe(report.experiments.at(-1)?.roofline?.rows.length);
    await context.close();
  });

  it("draws a roofline by groups, with the other variant, names the largest, and has a place for operators without MACs", async () => {
    const { page, context } = await open(run, "#roofline");
    const [other, own] = report.experiments;
    const rows = [...(own?.roofline?.rows ?? [])].sort((a, b) => b.time_ms - a.time_ms);
    const [work, moved] = [page.locator("main .chart").nth(0), page.locator("main .chart").nth(1)];
    await expect.poll(() => work.locator("svg text").allTextContents()).toEqual(expect.arrayContaining(["Convolution", "GEMM", other?.label]));
    // The numbers of the largest points do not overlap, and none is missing.
    const numbers = work.locator("svg text").filter({ hasText: /^\d[\d–, ]*$/ });
    const boxes = await numbers.evaluateAll((all) => all.filter((one) => one.getAttribute("font-weight") === "600" || getComputedStyle(one).fontWeight === "600").map((one) => ({ text: one.textContent ?? "", box: one.getBoundingClientRect().toJSON() as DOMRect })));
    const named = boxes.flatMap(({ text }) => text.split(", ")).flatMap((part) => { const [from, to] = part.split("–").map(Number); return Array.from({ length: (to ?? (from as number)) - (from as number) + 1 }, (_, i) => (from as number) + i); });
    expect(named.sort()).toEqual(rows.filter((row) => row.macs > 0).slice(0, 5).map((_, i) => i + 1));
    for (const [i, { box }] of boxes.entries()) for (const { box: next } of boxes.slice(i + 1)) expect(box.right < next.left || next.right < box.left || box.bottom < next.top || next.bottom < box.top).toBe(true);
    for (const name of ["Convolution", "GEMM"]) expect(await work.locator(`svg path[fill='${colorOfName(name, "light")}']`).count(), name).toBeGreaterThan(0);
    const names = (at: number) => page.locator("ol.largest").nth(at).locator("a").allInnerTexts();
    expect(await names(0)).toEqual(rows.filter((row) => row.macs > 0).map((row) => row.name).slice(0, 5));
    const without = rows.filter((row) => row.macs === 0 && row.bytes > 0);
    expect(without.length).toBeGreaterThan(0);
    expect(await names(1)).toEqual(without.map((row) => row.name).slice(0, 5));
    expect(await moved.getAttribute("aria-label")).toContain("without multiply-accumulates");
    // Without the other variant, no point is outlined.
    const outlined = work.locator(`svg path[stroke='${colorOfName("Convolution", "light")}']`);
    expect(await outlined.count()).toBeGreaterThan(0);
    await page.getByRole("combobox", { name: "Compared with" }).selectOption("none");
    await expect.poll(() => outlined.count()).toBe(0);
    await page.locator("ol.largest a").first().click();
    await page.locator("aside.details").waitFor();
    await context.close();
  });

  it("shows the bursts", async () => {
    const { page, context } = await open(run);
    await page.getByText("As a table").click();
    const bursts = (await exported(page, "bursts")).slice(1);
    expect(bursts.length).toBe(report.experiments.reduce((sum, e) => sum + e.burst_medians.median_ms.length, 0));
    expect(bursts.length).toBeGreaterThanOrEqual(2 * 4 * 3); // variants, launches, rounds; disturbed ones are repeated
    expect(bursts.map((row) => Number(row[4])).sort()).toEqual(report.experiments.flatMap((e) => e.burst_medians.median_ms).sort());
    await context.close();
  });

  it("is reached by the keyboard alone", async () => {
    const { page, context } = await open(run);
    await page.keyboard.press("Tab"); // to the content
    await page.keyboard.press("Tab"); // the theme
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.locator('nav a[aria-current=page][href="#operators"]').waitFor();
    await context.close();
  });

  it("fits a phone: only tables scroll sideways", async () => {
    const { page, context } = await open(run, "", { viewport: { width: 360, height: 740 } });
    for (const view of kViews) {
      await page.goto(`${page.url().split("#")[0]}#${view}`);
      await page.locator(`nav a[aria-current=page][href="#${view}"]`).waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth), view).toBeLessThanOrEqual(360);
    }
    await context.close();
  });

  it("shows on a phone verdicts and times without scrolling, with the names that they are of", async () => {
    const { page, context } = await open(run, "", { viewport: { width: 400, height: 850 } });
    const [baseline, candidate] = report.experiments.map((e) => e.label) as [string, string];
    const seen = async (region: string, titles: string[]) => {
      const table = page.getByRole("region", { name: region, exact: true });
      for (const title of titles) {
        const box = await table.getByRole("columnheader", { name: title }).first().boundingBox();
        expect((box?.x ?? 400) + (box?.width ?? 0), `${region}: ${title}`).toBeLessThanOrEqual(390);
      }
      // A table that is scrolled to its end still shows the names of its rows.
      await table.evaluate((frame) => frame.scrollTo(1000, 0));
      expect((await table.locator("tbody td").first().boundingBox())?.x, region).toBeGreaterThanOrEqual(0);
    };
    await seen("Latency", ["median"]);
    await seen("Self time by group", ["speedup", baseline, candidate]);
    await seen("Startup and memory", ["change", baseline, candidate]);
    await page.goto(`${page.url().split("#")[0]}#operators`);
    await seen("operators", ["Change", baseline, candidate, "Verdict"]);
    for (const part of ["td .verdict:has(small)", "td .verdict small"]) {
      const box = await page.locator(part).first().boundingBox();
      expect((box?.x ?? 400) + (box?.width ?? 0), part).toBeLessThanOrEqual(390);
    }
    await context.close();
  });

  it("shows on a phone the tab where one is", async () => {
    const { page, context } = await open(run, "#roofline", { viewport: { width: 390, height: 844 } });
    const tab = page.locator("nav a[aria-current=page]");
    const inView = async () => {
      const box = await tab.boundingBox();
      return box !== null && box.x >= 0 && box.x + box.width <= 390;
    };
    await expect.poll(inView).toBe(true);
    await page.goto(`${page.url().split("#")[0]}#report`);
    await page.locator('nav a[aria-current=page][href="#report"]').waitFor();
    await expect.poll(inView).toBe(true);
    await context.close();
  });

  it("has no label of an axis over another on a phone", async () => {
    const { page, context } = await open(run, "#report", { viewport: { width: 390, height: 844 } });
    await page.locator("#at-self-time-by-group .chart svg text").first().waitFor();
    for (const chart of await page.locator("#at-self-time-by-group .chart").all()) {
      // The times along the axis are the labels with the same vertical position.
      const boxes = await chart.locator("svg text").evaluateAll((all) =>
        all.filter((one) => /^[\d.]+ (ns|µs|ms|s)$/.test(one.textContent ?? "")).map((one) => one.getBoundingClientRect()).map(({ left, right }) => ({ left, right })),
      );
      expect(boxes.length).toBeGreaterThan(1);
      boxes.sort((a, b) => a.left - b.left);
      for (const [i, box] of boxes.entries()) if (i > 0) expect(box.left).toBeGreaterThan(boxes[i - 1]?.right ?? 0);
    }
    await context.close();
  });

  it("gives a group the color of its category", async () => {
    const { page, context } = await open(run);
    for (const by of ["groups", "categories"]) {
      await page.getByRole("combobox", { name: "By" }).selectOption({ index: by === "groups" ? 0 : 1 });
      for (const name of ["Convolution", "GEMM"]) {
        await expect.poll(() => page.locator(`main .chart svg path[fill='${colorOfName(name, "light")}']`).count(), { message: `${by} ${name}` }).toBeGreaterThanOrEqual(2); // a bar for each variant
      }
    }
    await context.close();
  });

  it("says under verdicts what their ratio is", async () => {
    const { page, context } = await open(run, "#operators");
    expect(await page.locator("main").innerText()).toContain("geometric mean over launches");
    await context.close();
  });

  it("prints without what is only for the screen", async () => {
    const { page, context } = await open(run);
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("nav").filter({ visible: true }).count()).toBe(0);
    expect(await page.locator(".controls").first().isVisible()).toBe(false);
    expect(await page.locator(".headline").first().isVisible()).toBe(true);
    await context.close();
  });

  it("prints every view onto A4: within its width, no page blank, the last row of every table there", async () => {
    const { page, context, complaints } = await open(layered, "", { viewport: { width: 1400, height: 900 }, colorScheme: "dark" });
    for (const view of kViews) {
      await page.goto(`${page.url().split("#")[0]}#${view}`);
      await page.locator(`nav a[aria-current=page][href="#${view}"]`).waitFor();
      await expect.poll(async () => (await page.locator("main").innerText()).length, { timeout: 30_000 }).toBeGreaterThan(30);
      const charts = () => page.locator("main .chart svg").evaluateAll((all) => all.map((svg) => svg.getBoundingClientRect().width));
      const before = await charts();
      const pages = pagesOf(await page.pdf({ format: "A4" }));
      for (const [i, text] of pages.entries()) expect(text.length, `${view}, page ${i + 1} of ${pages.length}`).toBeGreaterThan(30);
      const last = await page.locator("main table tbody").evaluateAll((bodies) =>
        // Folded parts are not printed.
        bodies.filter((body) => body.checkVisibility()).map((body) => body.querySelector("tr:last-child td")?.textContent ?? ""),
      );
      for (const cell of last) expect(pages.join(""), view).toContain(cell.replaceAll("->", "→").replace(/\s/g, ""));

      await page.emulateMedia({ media: "print" });
      await page.locator("html.printing").waitFor(); // the event reaches the page a little later
      await expect.poll(async () => Math.max(0, ...(await charts())), { message: view }).toBeLessThanOrEqual(700);
      const right = await page.locator("main *:not(svg *)").evaluateAll((all) => Math.max(...all.filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect().right)));
      expect(right, view).toBeLessThanOrEqual(794); // A4 at 96 pixels an inch
      // No number and no verdict breaks across lines.
      const heights = await page.locator("td.number, .verdict").evaluateAll((all) =>
        all.filter((one) => one.checkVisibility()).map((one) => {
          const range = document.createRange();
          range.selectNodeContents(one);
          return new Set([...range.getClientRects()].map((box) => Math.round(box.bottom / 8))).size;
        }),
      );
      expect(Math.max(0, ...heights), view).toBeLessThanOrEqual(2);
      await page.emulateMedia({ media: "screen" });
      await page.locator("html:not(.printing)").waitFor();
      // After printing, the screen is as before.
      await expect.poll(charts).toEqual(before);
    }
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("prints what is folded on the screen, and folds it again", async () => {
    const { page, context } = await open(run);
    const folded = () => page.locator("details:not([open])").count();
    const before = await folded();
    expect(before).toBeGreaterThan(3);
    const pages = pagesOf(await page.pdf({ format: "A4" })).join("");
    const details = reportDocument.sections.flatMap((section) => section.parts.flatMap(({ list }) => list?.items.flatMap((item) => item.details ?? []) ?? []));
    expect(details.length).toBeGreaterThan(0);
    for (const line of details) expect(pages).toContain(withoutBackticks(line).replaceAll("->", "→").replace(/\s/g, ""));
    await expect.poll(folded).toBe(before);
    // The folded table of bursts stays folded, because the paper shows their chart.
    const name = report.experiments[0]?.label as string;
    const rows = (text: string) => text.split(`${name.replace(/\s/g, "")}1`).length;
    const closed = rows(pages);
    await page.locator("details.folded-on-paper > summary").click();
    expect(rows(pagesOf(await page.pdf({ format: "A4" })).join(""))).toBeGreaterThan(closed);
    await context.close();
  });

  it("keeps colors that mean something on paper", async () => {
    const { page, context } = await open(layered);
    await page.emulateMedia({ media: "print" });
    for (const place of [".icicle button", ".bar"]) expect(await page.locator(place).first().evaluate((one) => getComputedStyle(one).printColorAdjust), place).toBe("exact");
    await context.close();
  });
});

described("a ladder", () => {
  it("has its levels with a picture, what each is worth by group, category, and operator, and no complaint", async () => {
    const { page, context, complaints } = await open(ladder);
    const of = JSON.parse(readFileSync(join(ladder, "analysis_summary.json"), "utf8")).ladder;
    const levels = of.levels.map((level: { name: string }) => level.name);
    expect(levels).toEqual(["base", "fma", "wide"]);
    const [head, ...rows] = (await exported(page, "ladder_levels")) as [string[], ...string[][]];
    expect(rows.map((row) => row[0])).toEqual(levels);
    expect(rows.map((row) => Number(row[head.indexOf("median")]))).toEqual(of.latency.cells.map((cell: { ms: number }) => cell.ms));
    expect(await page.locator("#at-isa-ladder .chart").count()).toBe(3); // one chart of the latency and two of the groups
    const all = await page.locator("[aria-label$='Operators by level'] tbody tr").count(); // folded
    expect(all).toBe(of.operators.length);
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });
});

described("a large report", () => {
  it("of 100 runs of 500 operators is a file of less than 5 MB, which draws no more rows than can be seen", async () => {
    const rows = ["name,start_us,end_us,run_index"];
    // The times are as irregular as measured times, because regular times would compress better.
    const uneven = (n: number) => ((n * 2654435761) % 4294967296) / 4294967296;
    for (let run = 0, now = 0; run < 100; run++) {
      const start = now;
      for (let op = 0; op < 500; op++) {
        const end = now + 5 + 60 * uneven(run * 500 + op);
        rows.push(`"Convolution (NHWC, F32) IGEMM #${op}",${now.toFixed(3)},${end.toFixed(3)},${run}`);
        now = end + uneven(op);
      }
      rows.push(`DELEGATE_CALL,${start.toFixed(3)},${now.toFixed(3)},${run}`, `Method::execute,${start.toFixed(3)},${now.toFixed(3)},${run}`);
      now += 10;
    }
    const timeline = join(folder, "large_exec_all_runs_timeline.csv");
    writeFileSync(timeline, `${rows.join("\n")}\n`);
    const large = join(folder, "large");
    etprof("analyze", timeline, "-o", large, "--quiet", "--no-timeline");
    expect(statSync(join(large, "report.html")).size).toBeLessThan(5_000_000);

    const { page, context, complaints } = await open(large, "#operators");
    expect(await rowCount(page)).toBe(500);
    expect(await page.locator("tbody tr").count()).toBeLessThan(100);
    const order = (await exported(page, "operators")).slice(1).map((row) => (row[0] as string).replace(/\s/g, ""));
    const pages = pagesOf(await page.pdf({ format: "A4" }));
    for (const [i, text] of pages.entries()) expect(text.length, `page ${i + 1}`).toBeGreaterThan(30);
    const printed = pages.join("").match(/Convolution\(NHWC,F32\)IGEMM#\d+/g) ?? [];
    expect(printed.length).toBe(200);
    expect(pages.join("")).toContain("200of500rows;theCSVhasall.");
    // A number directly behind a name cannot be distinguished from digits of the name.
    for (const [i, name] of order.slice(0, 200).entries()) expect(printed[i]?.startsWith(name), name).toBe(true);
    expect(await page.locator("tbody tr").count()).toBeLessThan(100); // the screen is as before
    await page.goto(`${page.url().split("#")[0]}#timeline`);
    await page.locator(".lane option").first().waitFor({ state: "attached" });
    expect(await page.locator(".lane option").count()).toBe(100);
    // The rows that the table of operators omits are elsewhere in the page, so a link leads there instead of a command.
    await page.goto(`${page.url().split("#")[0]}#report`);
    await page.locator("#at-most-expensive-operators").getByRole("link", { name: "Operators" }).waitFor();
    expect(await page.locator("main").textContent()).not.toContain("--csv");
    expect(complaints).toEqual([]);
    await context.close();
  });
});

described("hostile names", () => {
  it("are shown as text, and run nothing", async () => {
    const { page, context, complaints } = await open(hostile, "#operators");
    const shown = await page.locator("tbody tr td:first-child").allInnerTexts();
    for (const name of kHostile) expect(shown, name.slice(0, 40)).toContain(name.replace("\u202e", "\\u202e"));
    const views = await page.locator("nav[aria-label=Views] a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    expect(views).toContain("#timeline");
    for (const view of views) {
      await page.goto(`${page.url().split("#")[0]}${view}`);
      await page.locator(`nav a[aria-current=page][href="${view}"]`).waitFor();
    }
    await page.goto(`${page.url().split("#")[0]}#timeline`);
    await page.locator(".lane canvas").hover({ position: { x: 30, y: 50 } });
    await page.locator(".lane canvas").click({ position: { x: 30, y: 50 } });
    await page.locator("aside.details").waitFor();
    expect(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked)).toBeUndefined();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1280);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("are no formulas in an exported table", async () => {
    const { page, context } = await open(hostile, "#operators");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
    expect(readFileSync(await download.path(), "utf8")).toMatch(/^'=1\+2,/m);
    await context.close();
  });
});

described("a page without its data", () => {
  it("says so", async () => {
    const empty = mkdtempSync(join(folder, "empty-"));
    writeFileSync(join(empty, "report.html"), readFileSync(join(kRoot, "web/dist/index.html")));
    const { page, context } = await open(empty, "", {}, "#app");
    await expect.poll(() => page.locator("#app").innerText()).toContain("holds nothing");
    await context.close();
  });
});
