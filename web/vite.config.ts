import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { viteSingleFile } from "vite-plugin-singlefile";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

// The page may run its own script and style, named by their hashes, and nothing else: it loads nothing and sends nothing,
// whatever a name in its data says. (ECharts styles its tooltips by attributes, which cannot be named by hashes.)
function contentSecurityPolicy(): Plugin {
  return {
    name: "content-security-policy",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_options, bundle) {
        const page = bundle["index.html"];
        if (page?.type !== "asset") throw new Error("there is no index.html");
        const html = page.source.toString();
        const hashes = (element: string) =>
          [...html.matchAll(new RegExp(`<${element}\\b[^>]*>([^]*?)</${element}>`, "g"))]
            .map((match) => `'sha256-${createHash("sha256").update(match[1] ?? "").digest("base64")}'`)
            .join(" ");
        const policy =
          `default-src 'none'; script-src ${hashes("script")}; style-src-elem ${hashes("style")}; ` +
          "style-src-attr 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
        const meta = `<meta http-equiv="Content-Security-Policy" content="${policy}" />`;
        page.source = html.replace(/<meta charset="utf-8" ?\/?>/, (charset) => `${charset}\n    ${meta}`);
        if (!page.source.includes(meta)) throw new Error("index.html names no character set to put the policy behind");
      },
    },
  };
}

const version = /^version = "(.*)"$/m.exec(readFileSync(new URL("../pyproject.toml", import.meta.url), "utf8"))?.[1];

// The build makes one self-contained file, which opens from disk. etprof appends the data of a report to it.
export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), contentSecurityPolicy()],
  resolve: { alias: { react: "preact/compat", "react-dom": "preact/compat" } },
  define: { ETPROF_VERSION: JSON.stringify(version) },
  build: { target: "es2022", modulePreload: false, chunkSizeWarningLimit: 2000 },
  // The timeouts are long, because the end-to-end tests measure a model and start a browser, also on slow machines.
  test: { testTimeout: 120_000, hookTimeout: 300_000, expect: { poll: { timeout: 60_000 } } },
});
