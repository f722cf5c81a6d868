import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { colorOfName, kPalette } from "./colors";

const channels = (color: string) => [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
const luminance = (color: string) => channels(color).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i]!, 0);
// Contrast ratio, defined by WCAG 2.
const contrast = (a: string, b: string) => {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
};
// Converts sRGB to CIE 1976 L*a*b* with the white point D65.
function lab(color: string): number[] {
  const [r, g, b] = channels(color) as [number, number, number];
  const f = (t: number) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const [x, y, z] = [f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047), f(0.2126 * r + 0.7152 * g + 0.0722 * b), f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883)];
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}
const distance = (a: string, b: string) => Math.hypot(...lab(a).map((component, i) => component - (lab(b)[i] as number)));

// All names of groups and categories that etprof gives to operators.
const source = readFileSync(new URL("../../src/profile/analysis/categories.cc", import.meta.url), "utf8");
const kCategories = [...new Set([...source.matchAll(/\{"([A-Z][A-Z_]+)", /g)].map((match) => match[1] as string))].concat("framework", "Clipped");
const kGroups = ["Convolution", "GEMM", "Data Movement", "Elementwise", "Other", "Framework overhead", "Delegate overhead", "Clipped"];

for (const theme of ["light", "dark"] as const) {
  const [paper, ink] = theme === "light" ? (["#ffffff", "#ffffff"] as const) : (["#14181d", "#10141a"] as const);

  it(`colors of groups and categories are distinguishable and visible, ${theme}`, () => {
    expect(kCategories.length).toBeGreaterThanOrEqual(12);
    for (const names of [kGroups, kCategories]) expect(new Set(names.map((name) => colorOfName(name, theme))).size, names.join()).toBe(names.length);
    for (const [i, color] of kPalette[theme].entries()) {
      expect(contrast(color, paper), color).toBeGreaterThanOrEqual(3);
      expect(contrast(color, ink), color).toBeGreaterThanOrEqual(4.5);
      for (const otherColor of kPalette[theme].slice(0, i)) expect(distance(color, otherColor), `${color} ${otherColor}`).toBeGreaterThan(25);
    }
  });

  it(`a name has the same color next to any other names, ${theme}`, () => {
    expect(colorOfName("Convolution", theme)).toBe(colorOfName("CONV_STANDARD", theme));
    expect(colorOfName("Data Movement", theme)).toBe(colorOfName("DATA_MOVEMENT", theme));
    expect(kPalette[theme]).toContain(colorOfName("MY_OWN", theme));
    expect(colorOfName("MY_OWN", theme)).toBe(colorOfName("MY_OWN", theme));
  });
}
