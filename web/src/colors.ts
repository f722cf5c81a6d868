// Colors of groups and categories, by their names: the same in every chart, report and order of rows, so that GEMM is
// known again. Each has a contrast of 3 to the paper and of 4.5 to what is written on it, and is told from every other.
import type { Theme } from "./theme";

const kNames = [
  ["Convolution", "CONV_STANDARD"],
  ["GEMM"],
  ["Data Movement", "DATA_MOVEMENT"],
  ["Elementwise", "ELEMENTWISE"],
  ["Other", "OTHER"],
  ["Framework overhead", "framework"],
  ["RNN"],
  ["Clipped"],
  ["ACTIVATION"],
  ["CONV_TRANSPOSED"],
  ["CONV_DEPTHWISE"],
  ["ATTENTION"],
  ["QUANT"],
  ["CONV_POINTWISE"],
  ["RESHAPE"],
  ["NORM"],
  ["REDUCTION"],
  ["POOL"],
  ["EMBEDDING", "Delegate overhead"],
  ["RESIZE"],
];

export const kPalette: Record<Theme, string[]> = {
  light: [
    "#0072b2", "#bf5300", "#007f5f", "#a8518a", "#8a6d00", "#5c5c5c", "#2020df", "#101070", "#c91dc9", "#df2050",
    "#590d0d", "#138613", "#151537", "#35430a", "#2068df", "#a66359", "#861386", "#590d3d", "#574785", "#24818f",
  ],
  dark: [
    "#56b4e9", "#f0904a", "#2fc79a", "#dd93bd", "#e6c84a", "#a9a9a9", "#df20df", "#20df20", "#6374e9", "#e64c60",
    "#66a329", "#d9f5bc", "#e64cac", "#858547", "#8fefef", "#36e277", "#afdf20", "#7a7ab8", "#cf79ec", "#af726a",
  ],
};

const kIndex = new Map(kNames.flatMap((names, at) => names.map((name): [string, number] => [name, at])));

// A name that is not known has a color that depends on nothing but the name.
export function colorOfName(name: string, theme: Theme): string {
  let hash = 0;
  for (const letter of name) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) >>> 0;
  return kPalette[theme][kIndex.get(name) ?? hash % kNames.length] as string;
}
