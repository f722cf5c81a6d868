import { expect, it } from "vitest";
import { href, parseRoute } from "./route";

it("an address holds the view and its selection", () => {
  const { view, query } = parseRoute("#operators?q=gemm&op=a%7Cb");
  expect(view).toBe("operators");
  expect(query.get("q")).toBe("gemm");
  expect(query.get("op")).toBe("a|b");
  expect(parseRoute("").view).toBe("");
});
it("addresses are read back as written", () => {
  const hostile = '<b>&"#?=/% ü';
  expect(parseRoute(href("operators", { q: hostile, none: undefined })).query.get("q")).toBe(hostile);
  expect(href("summary")).toBe("#summary");
});
