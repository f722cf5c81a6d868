// Opens the output of `etprof inspect --model-explorer` in Model Explorer's own page, with its server and loader.
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const kRoot = resolve(import.meta.dirname, "../..");
const kEtprof = process.env.ETPROF ?? join(kRoot, "build/etprof");
const kChromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
const kPython = join(kRoot, ".venv/bin/python");

type Node = { id: string; label: string; incomingEdges: { sourceNodeId: string }[] };
type NodeData = { forward: { results: Record<string, { value: number }> } };

// Model Explorer's dependencies are in requirements/explorer.txt.
const installed = spawnSync(kPython, ["-c", "import flask, model_explorer"], { stdio: "ignore" }).status === 0;
const lacking = (!existsSync(kChromium) || !installed) && process.env.CI !== "true";
if (lacking) console.warn(`skipped: Model Explorer (script/bootstrap --dev) or Chromium at ${kChromium} is not there`);

let folder: string;
let server: ChildProcess;
let browser: Browser;
let page: Page;
let nodes: Node[];
let data: NodeData;

async function freePort(): Promise<number> {
  const socket = createServer();
  await new Promise<void>((done) => socket.listen(0, "127.0.0.1", done));
  const { port } = socket.address() as { port: number };
  await new Promise((done) => socket.close(done));
  return port;
}

// The server prints an address that names the files to open.
async function started(process: ChildProcess): Promise<string> {
  let said = "";
  return new Promise((found, failed) => {
    const listen = (text: Buffer) => {
      said += text;
      const url = /http:\/\/localhost:\d+\/\?data=\S+/.exec(said)?.[0];
      if (url) found(url);
    };
    process.stdout?.on("data", listen);
    process.stderr?.on("data", listen);
    process.on("exit", () => failed(new Error(`Model Explorer ended: ${said}`)));
  });
}

beforeAll(async () => {
  if (lacking) return;
  folder = mkdtempSync(join(tmpdir(), "etprof-explorer-"));
  const graphs = join(folder, "toy.json");
  const model = join(kRoot, "tests/data/toy_cnn.pte");
  const run = join(kRoot, "tests/data/toy_cnn.t1.etdump");
  execFileSync(kEtprof, ["inspect", model, "--model-explorer", graphs, "--run", run], { stdio: ["ignore", "pipe", "pipe"] });
  nodes = JSON.parse(readFileSync(graphs, "utf8")).graphs[0].nodes;
  const colors = join(folder, "toy.toy_cnn.t1.json");
  data = JSON.parse(readFileSync(colors, "utf8"));

  const port = String(await freePort());
  const options = ["--port", port, "--no_open_in_browser", "--skip_health_check", "--node_data_paths", colors];
  server = spawn(kPython, ["-m", "model_explorer", graphs, ...options], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, PYTHONUNBUFFERED: "1" },
  });
  const url = await started(server);
  // Chromium's sandbox does not work as root. The page draws with WebGL.
  const root = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  browser = await chromium.launch({ executablePath: kChromium, args: [...root, "--enable-unsafe-swiftshader"] });
  page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
  // The page requests its fonts and looks for a newer version.
  await page.route(/^https?:\/\/(?!localhost)/, (route) => route.abort());
  await page.route(/check_new_version/, (route) => route.fulfill({ json: {} }));
  await page.goto(url);
});

afterAll(async () => {
  await browser?.close();
  server?.removeAllListeners("exit");
  server?.kill("SIGKILL");
  if (folder) rmSync(folder, { recursive: true, force: true });
});

// Returns the text about a node in the side panel.
async function panelOf(id: string): Promise<string> {
  await page.evaluate((nodeId) => {
    window.postMessage({ cmd: "model-explorer-select-node-by-node-id", nodeId }, "*");
  }, id);
  await page.locator("info-panel", { hasText: id }).waitFor();
  return page.locator("info-panel").innerText();
}

describe.skipIf(lacking)("Model Explorer", () => {
  it("loads the graph, with every node of the program", async () => {
    await page.getByText(`${nodes.length} nodes`).first().waitFor();
    expect(nodes).toHaveLength(13);
  });

  it("has the measured times as node data", async () => {
    const values = Object.values(data.forward.results).map((result) => result.value);
    expect(values).toHaveLength(11);
    const panel = page.locator("info-panel");
    await panel.getByText("Aggregated stats").waitFor();
    const text = await panel.innerText();
    for (const value of values) expect(text).toContain(String(value));
    const sum = Number(/Sum\s+([\d.]+)/.exec(text)?.[1]);
    expect(sum).toBeCloseTo(values.reduce((a, b) => a + b), 9);
  });

  it("shows a node's attributes, and where its input comes from", async () => {
    const id = "forward/0/node/2";
    const text = await panelOf(id);
    for (const part of ["Conv2d", "Convolution (NHWC, F32) IGEMM #2", "XnnpackBackend at instruction 0"])
      expect(text).toContain(part);
    expect(text).toContain(`${data.forward.results[id]?.value.toFixed(4)} ms`);
    const edges = nodes.find((node) => node.id === id)?.incomingEdges;
    expect(edges?.map((edge) => edge.sourceNodeId)).toEqual(["forward/0/node/1"]);
    expect(text.slice(text.search(/inputs/i))).toContain("Conv2d");
  });
});
