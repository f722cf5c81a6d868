import { expect, it } from "vitest";
import { href, parseRoute } from "./route";

it("an address says the view and what is chosen in it", () => {
  const { view, query } = parseRoute("#operators?q=gemm&op=a%7Cb");
  expect(view).toBe("operators");
  expect(query.get("q")).toBe("gemm");
  expect(query.get("op")).toBe("a|b");
  expect(parseRoute("").view).toBe("");
});
it("what is written is read back", () => {
  const hostile = '<b>&"#?=/% ü';
  expect(parseRoute(href("operators", { q: hostile, none: undefined })).query.get("q")).toBe(hostile);
  expect(href("summary")).toBe("#summary");
});
