// Colors of groups and categories depend only on the name, so a group such as GEMM has one color in every chart and
// report. Each color has a contrast of 3 with the page and of 4.5 with text on it, and differs visibly from all others.
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

const kPaletteIndex = new Map(kNames.flatMap((names, index) => names.map((name): [string, number] => [name, index])));

// A name that is not in kNames gets a color by its hash.
export function colorOfName(name: string, theme: Theme): string {
  let hash = 0;
  for (const letter of name) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) >>> 0;
  return kPalette[theme][kPaletteIndex.get(name) ?? hash % kNames.length] as string;
}
