import { expect, it } from "vitest";
import { compareValues } from "./table";

it("numbers are ordered by their size, whatever digits follow the point", () => {
  expect([2.81, 2.13, 10.5, 0.9, 2.5].sort(compareValues)).toEqual([0.9, 2.13, 2.5, 2.81, 10.5]);
});

it("texts are ordered as people do: by the numbers in them, and not by capitals", () => {
  expect(["GEMM #10", "gemm #9", "Add", "GEMM #2"].sort(compareValues)).toEqual(["Add", "GEMM #2", "gemm #9", "GEMM #10"]);
});
