// node bench/picture.ts RUN OUT.png: the first screen of a run's report.html, as README.md shows it.
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
await page.waitForTimeout(1000); // charts move into place
await page.screenshot({ path: out });
await browser.close();
