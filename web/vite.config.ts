import { viteSingleFile } from "vite-plugin-singlefile";
import { defineConfig } from "vitest/config";

// One file with all in it: etprof puts the data of a report behind it, and it opens from disk.
export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  resolve: { alias: { react: "preact/compat", "react-dom": "preact/compat" } },
  build: { target: "es2022", modulePreload: false, chunkSizeWarningLimit: 2000 },
  // The end-to-end tests measure a model, and start a browser, on whatever machine there is.
  test: { testTimeout: 120_000, hookTimeout: 300_000 },
});
