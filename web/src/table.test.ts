import { expect, it } from "vitest";
import { breakable, compareValues } from "./table";

it("numbers are ordered by their size, whatever digits follow the point", () => {
  expect([2.81, 2.13, 10.5, 0.9, 2.5].sort(compareValues)).toEqual([0.9, 2.13, 2.5, 2.81, 10.5]);
});

it("texts are ordered as people do: by the numbers in them, and not by capitals", () => {
  expect(["GEMM #10", "gemm #9", "Add", "GEMM #2"].sort(compareValues)).toEqual(["Add", "GEMM #2", "gemm #9", "GEMM #10"]);
});

it("a printed name breaks behind its marks and between its words, never within a word", () => {
  expect(breakable("features.10.block.1.0")).toEqual(["features.", "10.", "block.", "1.", "0"]);
  expect(breakable("ConvNormActivation")).toEqual(["Conv", "Norm", "Activation"]);
  expect(breakable("1x3x3 -> 1x6 fp32")).toEqual(["1x3x3 → 1x6 fp32"]);
  expect(breakable("DELEGATE_CALL")).toEqual(["DELEGATE_", "CALL"]);
  expect(breakable("Convolution")).toEqual(["Convolution"]);
});
