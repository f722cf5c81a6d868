// Colours of groups and categories, by their names: the same in every chart, report and order of rows, so that GEMM is
// known again. Each has a contrast of 3 to the paper and of 4.5 to what is written on it, and is told from every other.
import type { Theme } from "./theme";

const kNames = [
  ["Convolution", "CONV_STANDARD"],
  ["GEMM"],
  ["Data Movement", "DATA_MOVEMENT"],
  ["Elementwise", "ELEMENTWISE"],
  ["Other", "OTHER"],
  ["Framework overhead", "framework"],
  ["Delegate overhead", "RNN"],
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
  ["EMBEDDING"],
  ["RESIZE"],
];

export const kPalette: Record<Theme, string[]> = {
  light: [
    "#0072b2", "#bf5300", "#007f5f", "#a8518a", "#8a6d00", "#5c5c5c", "#0606f9", "#12037c", "#c705c7", "#63030f",
    "#e00657", "#11113b", "#037c03", "#0661f9", "#35430a", "#6953ac", "#e00606", "#9b5f4b", "#e0068e", "#7c037c",
  ],
  dark: [
    "#56b4e9", "#f0904a", "#2fc79a", "#dd93bd", "#e6c84a", "#a9a9a9", "#da06f9", "#06f906", "#f90661", "#6a7cfb",
    "#66b319", "#f92506", "#e64cbf", "#788a42", "#daf906", "#e2fdb4", "#1ff98c", "#9cfcfc", "#d16161", "#fccc9c",
  ],
};

const kIndex = new Map(kNames.flatMap((names, at) => names.map((name): [string, number] => [name, at])));

// A name that is not known has a colour that depends on nothing but the name.
export function colourOfName(name: string, theme: Theme): string {
  let hash = 0;
  for (const letter of name) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) >>> 0;
  return kPalette[theme][kIndex.get(name) ?? hash % kNames.length] as string;
}
