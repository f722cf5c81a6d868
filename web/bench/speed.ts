// Measures how long the page of a large report (20 experiments of 5,000 operators each) takes from an interaction to the
// next frame in Chromium, and how large a page with 100 runs of 500 operators is.
//   script/page bench [FILE.md]     writes the table to FILE.md too
import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type Page } from "playwright-core";

const kRoot = resolve(import.meta.dirname, "../..");
const kEtprof = process.env.ETPROF ?? join(kRoot, "build/etprof");
const folder = mkdtempSync(join(tmpdir(), "etprof-speed-"));

// Returns a pseudo-random number from 0 to 1 (mulberry32). Every run of this program gets the same sequence.
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const kTypes = ["Convolution (NHWC, F32) IGEMM", "Fully Connected (NC, F32) GEMM", "Transpose (ND, X32)", "HardSwish (NC)", "Mean (ND)"];

// Returns the timeline of one experiment in a format that etprof reads.
function timeline(name: string, runs: number, operators: number, seed: number): string {
  const random = seeded(seed);
  const file = join(folder, `${name}_exec_all_runs_timeline.csv`);
  const out = openSync(file, "w");
  writeSync(out, "name,start_us,end_us,run_index\n");
  let now = 0;
  for (let run = 0; run < runs; run++) {
    const lines: string[] = [];
    const start = now;
    now += 3;
    for (let op = 0; op < operators; op++) {
      const length = 2 + 40 * ((op * 37) % 11) * (0.9 + 0.2 * random());
      lines.push(`"${kTypes[op % kTypes.length]} #${op}",${now.toFixed(3)},${(now + length).toFixed(3)},${run}`);
      now += length + 0.2;
    }
    lines.push(`DELEGATE_CALL,${(start + 1).toFixed(3)},${(now + 1).toFixed(3)},${run}`, `Method::execute,${start},${(now + 2).toFixed(3)},${run}`);
    now += 50;
    writeSync(out, `${lines.join("\n")}\n`);
  }
  closeSync(out);
  return file;
}

function pageOf(name: string, files: string[]): string {
  const output = join(folder, name);
  execFileSync(kEtprof, ["analyze", ...files, "-o", output, "--no-timeline", "--quiet"], { stdio: ["ignore", "ignore", "inherit"] });
  return join(output, "report.html");
}

// Returns the longest time from an interaction to the next frame while `act` runs: the duration of the Event Timing API
// (w3.org/TR/event-timing), in steps of 8 ms. The API reports only durations of 16 ms or longer, so less is "under 16".
async function longest(page: Page, act: () => Promise<unknown>): Promise<number> {
  await page.evaluate(() => {
    const own = window as unknown as { durations: number[]; observer?: PerformanceObserver };
    own.durations = [];
    own.observer?.disconnect();
    own.observer = new PerformanceObserver((list) => own.durations.push(...list.getEntries().map((entry) => entry.duration)));
    own.observer.observe({ type: "event", durationThreshold: 16 } as PerformanceObserverInit);
  });
  await act();
  await page.waitForTimeout(400);
  return page.evaluate(() => Math.max(0, ...(window as unknown as { durations: number[] }).durations));
}

// The Event Timing API does not cover wheel events, so this returns the longest time between two frames.
async function longestFrame(page: Page, act: () => Promise<unknown>): Promise<number> {
  await page.evaluate(() => {
    const own = window as unknown as { frames: number[]; stop: boolean };
    own.frames = [];
    own.stop = false;
    let last = performance.now();
    const tick = (now: number) => {
      own.frames.push(now - last);
      last = now;
      if (!own.stop) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  await act();
  await page.waitForTimeout(200);
  return page.evaluate(() => {
    const own = window as unknown as { frames: number[]; stop: boolean };
    own.stop = true;
    return Math.max(...own.frames);
  });
}

const lines: string[] = ["# The page of a large report", ""];
try {
  const small = pageOf("small", [timeline("many_runs", 100, 500, 7)]);
  const files = Array.from({ length: 20 }, (_, i) => timeline(`experiment_${String(i).padStart(2, "0")}`, 8, 5000, i + 1));
  const large = pageOf("large", files);
  lines.push(
    `100 runs of 500 operators make a report.html of ${(statSync(small).size / 1e6).toFixed(2)} MB; 20 experiments of 5,000 operators and 8 runs each, as below, one of ${(statSync(large).size / 1e6).toFixed(2)} MB.`,
    "",
  );
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  const start = performance.now();
  await page.goto(pathToFileURL(large).href);
  await page.locator("nav").waitFor();
  const opening = performance.now() - start;
  lines.push(
    `From opening the file to its first view: ${(opening / 1000).toFixed(1)} s. In Chromium ${browser.version()}, without a graphics card.`,
    "",
    "| interaction | longest time to the next picture |",
    "|---|---:|",
  );
  const row = (what: string, ms: number) => lines.push(`| ${what} | ${ms === 0 ? "under 16" : ms.toFixed(0)} ms |`);
  const view = async (name: string) => {
    const link = page.locator(`nav a[href="#${name}"]`);
    if ((await link.count()) === 0) return;
    row(`to the view "${name}"`, await longest(page, () => link.click()));
    await page.waitForTimeout(300);
  };
  await view("operators");
  row("sorting 5,000 operators", await longest(page, () => page.locator("th button").nth(2).click()));
  row("filtering them, letter by letter", await longest(page, () => page.getByRole("searchbox").pressSequentially("gemm #12", { delay: 60 })));
  await page.getByRole("searchbox").fill("");
  row("choosing one, with its runs", await longest(page, () => page.locator("tbody tr td button").first().click()));
  row("scrolling through them (frame)", await longestFrame(page, async () => {
    await page.locator(".frame").hover();
    for (let i = 0; i < 20; i++) await page.mouse.wheel(0, 400);
  }));
  row("choosing another experiment", await longest(page, async () => {
    await page.locator("select").first().focus();
    await page.keyboard.press("ArrowDown");
  }));
  await view("timeline");
  await page.locator(".lane canvas").first().waitFor();
  await page.locator(".timeline").focus();
  row("zooming into 20 timelines by key", await longest(page, async () => {
    for (let i = 0; i < 10; i++) await page.keyboard.press("w");
  }));
  row("moving by key", await longest(page, async () => {
    for (let i = 0; i < 10; i++) await page.keyboard.press("d");
  }));
  row("to the next span", await longest(page, async () => {
    for (let i = 0; i < 5; i++) await page.keyboard.press(".");
  }));
  await page.locator(".lane canvas").first().hover({ position: { x: 400, y: 50 } });
  row("zooming with the wheel (frame)", await longestFrame(page, async () => {
    await page.keyboard.down("Control");
    for (let i = 0; i < 20; i++) await page.mouse.wheel(0, i < 10 ? -120 : 120);
    await page.keyboard.up("Control");
  }));
  row("pointing at spans (frame)", await longestFrame(page, async () => {
    for (let i = 0; i < 30; i++) await page.mouse.move(100 + 40 * i, 330);
  }));
  row("searching, letter by letter", await longest(page, async () => {
    await page.keyboard.press("/");
    await page.keyboard.type("transpose", { delay: 60 });
  }));
  await browser.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const text = `${lines.join("\n")}\n`;
process.stdout.write(text);
if (process.argv[2]) writeFileSync(process.argv[2], text);
