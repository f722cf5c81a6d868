import { expect, it } from "vitest";
import { toCsv } from "./csv";

it("quotes what needs it, and leaves out what does not exist", () => {
  expect(toCsv(["a,b", "c"], [["x", 1.5], ['say "hi"\nthere', null]])).toBe('"a,b",c\nx,1.5\n"say ""hi""\nthere",\n');
});
it("writes no formulas for spreadsheets", () => {
  expect(toCsv(["n"], [["=1+2"], ["@x"], [-3]])).toBe("n\n'=1+2\n'@x\n-3\n");
});
