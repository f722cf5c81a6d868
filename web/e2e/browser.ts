// Helpers of the end-to-end tests, which open pages written by etprof from disk in Chromium.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { describe } from "vitest";

export const kRoot = resolve(import.meta.dirname, "../..");
export const kEtprof = process.env.ETPROF ?? join(kRoot, "build/etprof");
const kChromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const kHostile = ["<script>window.hacked = 1</script>", `"><img src=x onerror="window.hacked = 2">`, "\u202eright to left", "x".repeat(10_000), "=1+2", "</script><b>"];

// The `env python3` of a scripted worker is the Python of .venv, if .venv exists.
const kEnvironment = { ...process.env, PATH: `${join(kRoot, ".venv/bin")}:${process.env.PATH}` };

export function etprof(...args: string[]): void {
  execFileSync(kEtprof, args, { stdio: ["ignore", "ignore", "pipe"], env: kEnvironment });
}

let browser: Browser | undefined;
export async function closeBrowser(): Promise<void> {
  await browser?.close();
}

// Opens a page and records its errors, dialogs, and requests. `wait` waits until the page is ready.
export async function open(file: string, hash = "", options: Parameters<Browser["newContext"]>[0] = {}, wait = "main") {
  // Chromium's sandbox does not work as root.
  browser ??= await chromium.launch({ executablePath: kChromium, args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
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
  await page.goto(pathToFileURL(file).href + hash);
  await page.locator(wait).first().waitFor({ state: "attached" });
  return { page, context, complaints };
}

// Returns the cells of the table that is exported under this name. None of these cells contains a comma.
export async function exported(page: Page, region: string): Promise<string[][]> {
  const table = page.locator(".table", { has: page.getByRole("region", { name: region }) });
  const [download] = await Promise.all([page.waitForEvent("download"), table.getByRole("button", { name: "CSV" }).click()]);
  const text = readFileSync(await download.path(), "utf8").trim();
  return text.split("\n").map((line) => {
    const cells = (line.match(/("([^"]|"")*"|[^,]*)(,|$)/g) ?? []).map((cell) => cell.replace(/,$/, "").replace(/^"(.*)"$/, "$1"));
    return line.endsWith(",") ? cells : cells.slice(0, -1); // the newline behind a line's last cell adds an empty cell
  });
}

export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(kAxe);
  return page.evaluate(async () => {
    type Found = { violations: { id: string; nodes: { html: string }[] }[] };
    const { axe } = window as unknown as { axe: { run(): Promise<Found> } };
    return (await axe.run()).violations.map(
      (one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 150)).join(" | ")}`,
    );
  });
}

// The tests are skipped without a browser. In CI, a missing browser is a failure.
export const lacking = !existsSync(kChromium) && process.env.CI !== "true";
if (lacking) console.warn(`skipped: there is no Chromium at ${kChromium} (CHROMIUM says where it is)`);
export const described = describe.skipIf(lacking);
