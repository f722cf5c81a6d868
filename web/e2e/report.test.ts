// report.html in real Chromium, opened from disk as a user does, against the analysis_summary.json beside it.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { time } from "../src/format";
import type { Report } from "../src/report";

const kRoot = resolve(import.meta.dirname, "../..");
const kEtprof = process.env.ETPROF ?? join(kRoot, "build/etprof");
const kChromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
const kViews = ["summary", "where", "operators", "layers", "insights", "conditions"];
const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const kHostile = ["<script>window.hacked = 1</script>", `"><img src=x onerror="window.hacked = 2">`, "\u202eright to left", "x".repeat(10_000), "=1+2", "</script><b>"];

let folder: string;
let run: string; // a run directory with two sides
let hostile: string; // the folder of a report whose operators have such names
let report: Report;
let browser: Browser;

function etprof(...args: string[]): void {
  execFileSync(kEtprof, args, { stdio: ["ignore", "ignore", "pipe"] });
}

beforeAll(async () => {
  if (!existsSync(kChromium) && process.env.CI !== "true") return;
  folder = mkdtempSync(join(tmpdir(), "etprof-page-"));
  const config = {
    model: join(kRoot, "tests/data/toy_cnn.pte"),
    output_root: join(folder, "out"),
    launches: 3,
    rounds: 2,
    experiments: [
      { name: "one", runs: 4 },
      { name: "other", runs: 4 },
    ],
  };
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  etprof("run", join(folder, "config.json"));
  const manifest = readdirSync(join(folder, "out"), { recursive: true, encoding: "utf8" }).find((file) => file.endsWith("manifest.json"));
  run = dirname(join(folder, "out", manifest as string));
  report = JSON.parse(readFileSync(join(run, "analysis_summary.json"), "utf8"));

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

  // A browser of root's has no sandbox.
  browser = await chromium.launch({ executablePath: kChromium, args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
});

afterAll(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

// Whatever a page complains of, asks or fetches.
async function open(in_folder: string, hash = "", options: Parameters<Browser["newContext"]>[0] = {}) {
  const context: BrowserContext = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page: Page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("dialog", (dialog) => {
    complaints.push(dialog.message());
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) complaints.push(`fetches ${request.url()}`);
  });
  await page.goto(pathToFileURL(join(in_folder, "report.html")).href + hash);
  await page.locator("main").waitFor();
  return { page, context, complaints };
}

async function rowCount(page: Page): Promise<number> {
  return Number(await page.locator("table").last().getAttribute("aria-rowcount")) - 1;
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(kAxe);
  return page.evaluate(async () => {
    type Found = { violations: { id: string; nodes: { html: string }[] }[] };
    const { axe } = window as unknown as { axe: { run(): Promise<Found> } };
    return (await axe.run()).violations.map(
      (one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 150)).join(" | ")}`,
    );
  });
}

// Without a browser there is nothing to test; CI has one, or fails.
const lacking = !existsSync(kChromium) && process.env.CI !== "true";
if (lacking) console.warn(`skipped: there is no Chromium at ${kChromium} (CHROMIUM says where it is)`);
const described = describe.skipIf(lacking);

described("a report opened from disk", () => {
  for (const colorScheme of ["light", "dark"] as const) {
    it(`shows every view, ${colorScheme}, without a complaint of the browser or of axe`, async () => {
      const { page, context, complaints } = await open(run, "", { colorScheme });
      for (const view of kViews) {
        await page.goto(`${page.url().split("#")[0]}#${view}`);
        await page.locator(`nav a[aria-current=page][href="#${view}"]`).waitFor();
        expect((await page.locator("main").innerText()).length).toBeGreaterThan(30);
        expect(await page.locator("main .warning", { hasText: "could not be drawn" }).count()).toBe(0);
        expect(await violations(page), view).toEqual([]);
      }
      expect(complaints).toEqual([]);
      // What has a fault is found to have one.
      await page.evaluate(() => document.querySelector("main")?.append(new Image()));
      expect((await violations(page)).join()).toContain("image-alt");
      await context.close();
    });
  }

  it("says the answer, and the same medians as analysis_summary.json", async () => {
    const { page, context } = await open(run);
    const headline = await page.locator(".headline").first().innerText();
    const comparison = report.comparisons[0];
    expect(headline).toContain(`${time(comparison?.latency.baseline_ms)} → ${time(comparison?.latency.candidate_ms)}`);
    for (const experiment of report.experiments) {
      const row = page.locator("tbody tr", { hasText: experiment.label }).first();
      expect(await row.innerText()).toContain(time(experiment.latency_ms.p50));
    }
    await context.close();
  });

  it("has every operator, sorts and filters them, and exports the numbers themselves", async () => {
    const { page, context } = await open(run, "#operators");
    const all = report.comparisons[0]?.operators ?? [];
    const rows = all.filter((row) => row.baseline_ms !== null || row.candidate_ms !== null);
    expect(rows.length).toBeGreaterThan(3);
    expect(await rowCount(page)).toBe(rows.length);
    const slowest = [...rows].sort((a, b) => (b.candidate_ms ?? -1) - (a.candidate_ms ?? -1))[0];
    expect(await page.locator("tbody tr").first().innerText()).toContain(slowest?.name);

    await page.getByRole("button", { name: "Operator" }).click();
    const names = await page.locator("tbody tr td:first-child").allInnerTexts();
    expect(names).toEqual([...names].sort((a, b) => a.localeCompare(b, "en", { numeric: true, sensitivity: "base" })));

    await page.getByRole("searchbox").fill("softmax");
    const expected = rows.filter((row) => row.name.toLowerCase().includes("softmax"));
    expect(expected.length).toBeGreaterThan(0);
    await expect.poll(() => rowCount(page)).toBe(expected.length);
    expect(page.url()).toContain("q=softmax"); // the address says it

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

  it("is reached by the keyboard alone", async () => {
    const { page, context } = await open(run);
    await page.keyboard.press("Tab"); // to the content
    await page.keyboard.press("Tab"); // the theme
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.locator('nav a[aria-current=page][href="#where"]').waitFor();
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

  it("prints without what is only for the screen", async () => {
    const { page, context } = await open(run);
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("nav").isVisible()).toBe(false);
    expect(await page.locator(".controls").first().isVisible()).toBe(false);
    expect(await page.locator(".headline").first().isVisible()).toBe(true);
    expect((await page.pdf({ format: "A4" })).subarray(0, 5).toString()).toBe("%PDF-");
    await context.close();
  });
});

described("hostile names", () => {
  it("are shown as text, and run nothing", async () => {
    const { page, context, complaints } = await open(hostile, "#operators");
    const shown = await page.locator("tbody tr td:first-child").allInnerTexts();
    for (const name of kHostile) expect(shown, name.slice(0, 40)).toContain(name);
    for (const view of kViews) {
      await page.goto(`${page.url().split("#")[0]}#${view}`);
      await page.locator(`nav a[aria-current=page][href="#${view}"]`).waitFor();
    }
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
    const page = await browser.newPage();
    await page.goto(pathToFileURL(join(empty, "report.html")).href);
    await expect.poll(() => page.locator("#app").innerText()).toContain("holds no report");
    await page.close();
  });
});
