import { expect, it } from "vitest";
import { toCsv } from "./csv";

it("quotes cells where needed, and leaves absent values empty", () => {
  expect(toCsv(["a,b", "c"], [["x", 1.5], ['say "hi"\nthere', null]])).toBe('"a,b",c\nx,1.5\n"say ""hi""\nthere",\n');
});
it("writes no text that a spreadsheet reads as a formula", () => {
  expect(toCsv(["n"], [["=1+2"], ["@x"], [-3]])).toBe("n\n'=1+2\n'@x\n-3\n");
});
