import { expect, it } from "vitest";
import { breakable, type Column, compareValues, tableCsv, orderForNarrow, shortName, verdictFields } from "./table";

it("numbers are ordered by size, whatever their decimals", () => {
  expect([2.81, 2.13, 10.5, 0.9, 2.5].sort(compareValues)).toEqual([0.9, 2.13, 2.5, 2.81, 10.5]);
});

it("texts are ordered naturally: by the numbers in them, ignoring case", () => {
  expect(["GEMM #10", "gemm #9", "Add", "GEMM #2"].sort(compareValues)).toEqual(["Add", "GEMM #2", "gemm #9", "GEMM #10"]);
});

it("on a phone, the name comes first, then verdicts, times, and other columns", () => {
  const column = (id: string, narrowOrder?: number): Column<null> => ({ id, title: id, value: () => null, narrowOrder });
  const columns = [column("name"), column("share"), column("time", 1), column("layer"), column("verdict", 0), column("other time", 1)];
  expect(orderForNarrow(columns).map(({ id }) => id)).toEqual(["name", "verdict", "time", "other time", "share", "layer"]);
});

it("a name on a phone keeps its end, which distinguishes it", () => {
  for (const cut of [false, true]) expect(shortName("− module.bert.encoder.layer.1.attention.self Where", cut)).toBe("− …layer.1.attention.self Where");
  expect(shortName("module.module.module.a_module_with_a_very_very_long_name Add", true)).toBe("…a_module_with…y_long_name Add");
  expect(shortName("Batch Matrix Multiply (NC, F32) GEMM #10", true)).toBe("Batch Matrix M…, F32) GEMM #10");
  expect(shortName("Batch Matrix Multiply (NC, F32) GEMM #10", false)).toBe("Batch Matrix Multiply (NC, F32) GEMM #10");
  for (const name of ["Convolution (NHWC) DWConv #10", "native_call_where.self_out", "features.3.conv.0", "x", ""]) expect(shortName(name, true)).toBe(name);
  expect(shortName("x".repeat(10_000), true).length).toBe(30);
  expect(shortName(`${"a.".repeat(50)}$& Add`, true)).toContain("$& Add");
});

it("a printed name breaks behind punctuation and between words, never within a word", () => {
  expect(breakable("features.10.block.1.0")).toEqual(["features.", "10.", "block.", "1.0"]);
  expect(breakable("ConvNormActivation")).toEqual(["Conv", "Norm", "Activation"]);
  expect(breakable("1x3x3 -> 1x6 fp32")).toEqual(["1x3x3 → 1x6 fp32"]);
  expect(breakable("DELEGATE_CALL")).toEqual(["DELEGATE_", "CALL"]);
  expect(breakable("Convolution")).toEqual(["Convolution"]);
  expect(breakable("[1.001, 5,319.6]")).toEqual(["[1.001, 5,319.6]"]);
});

it("the exported table has units, and the ratio and bounds of verdicts", () => {
  const row = { name: "a, b", ms: 1.5, compared: { ratio: 0.5, ratio_low: 0.4, ratio_high: 0.6, verdict: "slower" } };
  const columns: Column<typeof row>[] = [
    { id: "name", title: "Where", value: (r) => r.name },
    { id: "ms", title: "share", heading: "off: time", value: (r) => r.ms, unit: "ms" },
    { id: "verdict", title: "Verdict", value: (r) => r.compared.ratio, fields: verdictFields("Verdict", (r) => r.compared) },
  ];
  expect(tableCsv([row], columns)).toBe('Where,off: time (ms),Verdict: ratio,Verdict: low,Verdict: high,Verdict\n"a, b",1.5,0.5,0.4,0.6,slower\n');
});
