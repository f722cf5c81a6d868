// node bench/picture.ts RUN OUT.png: takes a screenshot of the top of a run's report.html, for README.md.
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [run, out] = process.argv.slice(2);
if (!run || !out) throw new Error("picture.ts RUN OUT.png");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme: "light" });
await page.goto(pathToFileURL(resolve(join(run, "report.html"))).href);
await page.locator("main").waitFor();
await page.waitForTimeout(1000); // until charts have stopped moving
await page.screenshot({ path: out });
await browser.close();
