// Draws the spans of a run onto a canvas, with one row per depth.
import type { Theme } from "./theme";
import type { ExperimentTimeline, Spans } from "./timeline";
import { firstEndingAfter } from "./timeline";
import { colorOfName } from "./colors";
import { isPrinting } from "./print";

export const ROW = 22; // height of the row of one depth, pixels

// The part of a run that is shown, ns from its start.
export interface Window {
  from: number;
  to: number;
}

export interface Marks {
  selected: number; // index of a span; -1: no span is selected
  counterpart: string | undefined; // key of the operator that corresponds to the selected span
  matches: ((op: number) => boolean) | null; // spans of other operators are drawn pale; null: no search
}

const isCall = (kind: string): boolean => kind === "method" || kind.endsWith("_call");

export function spanColor(group: string, kind: string, theme: Theme): string {
  if (isCall(kind) || group === "") return theme === "dark" ? "#3f4853" : "#c9d1d9";
  return colorOfName(group, theme);
}

function textColor(group: string, kind: string, theme: Theme): string {
  if (isCall(kind) || group === "") return theme === "dark" ? "#e3e7eb" : "#1f2328";
  return theme === "dark" ? "#10141a" : "#ffffff";
}

// Clears the canvas, and resizes its bitmap to its size on the screen. Returns null if the canvas has no area.
function startDrawing(canvas: HTMLCanvasElement): CanvasRenderingContext2D | null {
  const ratio = isPrinting() ? 3 : window.devicePixelRatio || 1; // sharp on paper
  const width = Math.round(canvas.clientWidth * ratio);
  const height = Math.round(canvas.clientHeight * ratio);
  if (width === 0 || height === 0) return null;
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext("2d");
  if (!context) return null;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  context.font = `12px ${getComputedStyle(canvas).fontFamily}`;
  context.textBaseline = "middle";
  return context;
}

// `names` has one label per span.
export function drawSpans(canvas: HTMLCanvasElement, timeline: ExperimentTimeline, spans: Spans, names: string[], shown: Window, marks: Marks, theme: Theme): void {
  const context = startDrawing(canvas);
  if (!context) return;
  const width = canvas.clientWidth;
  const scale = width / (shown.to - shown.from);
  const outline = theme === "dark" ? "#ffffff" : "#000000";
  spans.levels.forEach((level, depth) => {
    const top = depth * ROW;
    let last = Number.NEGATIVE_INFINITY; // right edge of the last span drawn; spans within half a pixel of it are skipped
    for (let i = firstEndingAfter(spans, level, shown.from); i < level.length; i++) {
      const span = level[i] as number;
      const start = spans.start[span] as number;
      if (start > shown.to) break;
      const left = Math.max(0, (start - shown.from) * scale);
      const right = Math.min(width, ((spans.end[span] as number) - shown.from) * scale);
      if (right - last < 0.5 && span !== marks.selected) continue;
      const drawnWidth = Math.max(0.75, right - left - (right - left > 3 ? 1 : 0));
      last = left + drawnWidth;
      const op = timeline.operators[spans.op[span] as number];
      if (!op) continue;
      const pale = marks.matches !== null && !marks.matches(spans.op[span] as number);
      context.globalAlpha = pale ? 0.2 : 1;
      context.fillStyle = spanColor(op.group, op.kind, theme);
      context.fillRect(left, top, drawnWidth, ROW - 2);
      if (drawnWidth > 34 && !pale) {
        context.fillStyle = textColor(op.group, op.kind, theme);
        context.fillText(truncateToWidth(context, names[span] ?? op.name, drawnWidth - 8), left + 4, top + (ROW - 2) / 2 + 0.5);
      }
      context.globalAlpha = 1;
      if (span === marks.selected || (marks.counterpart !== undefined && op.key === marks.counterpart)) {
        context.strokeStyle = outline;
        context.lineWidth = 2;
        context.setLineDash(span === marks.selected ? [] : [4, 3]);
        context.strokeRect(left + 1, top + 1, Math.max(2, drawnWidth - 2), ROW - 4);
        context.setLineDash([]);
      }
    }
  });
}

// Fades everything outside `area` and draws a line at both ends of the area.
export function drawArea(canvas: HTMLCanvasElement, shown: Window, area: Window, theme: Theme): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const [left, right] = [area.from, area.to].map((time) => ((time - shown.from) / (shown.to - shown.from)) * width) as [number, number];
  context.fillStyle = theme === "dark" ? "#14181daa" : "#ffffffaa";
  context.fillRect(0, 0, left, height);
  context.fillRect(right, 0, width - right, height);
  context.fillStyle = theme === "dark" ? "#79b8f3" : "#0b5cad";
  context.fillRect(left - 1, 0, 1.5, height);
  context.fillRect(right, 0, 1.5, height);
}

// Draws each whole run as one row. Inner spans cover the spans around them. `whole` is the longest time, ns.
export function drawOverview(canvas: HTMLCanvasElement, runs: { timeline: ExperimentTimeline; spans: Spans }[], whole: number, theme: Theme): void {
  const context = startDrawing(canvas);
  if (!context) return;
  const scale = canvas.clientWidth / whole;
  const row = canvas.clientHeight / runs.length;
  runs.forEach(({ timeline, spans }, index) => {
    for (const depth of spans.levels.keys()) {
      for (const span of spans.levels[depth] ?? []) {
        const op = timeline.operators[spans.op[span] as number];
        context.fillStyle = spanColor(op?.group ?? "", op?.kind ?? "", theme);
        const [start, end] = [spans.start[span] as number, spans.end[span] as number];
        context.fillRect(start * scale, index * row, (end - start) * scale, row - 1);
      }
    }
  });
}

// Returns the longest prefix of the text that fits, with an ellipsis if it was cut.
function truncateToWidth(context: CanvasRenderingContext2D, text: string, width: number): string {
  // No letter is narrower than 3 pixels, so the part of a long name that cannot fit is not measured.
  let cut = text.slice(0, Math.ceil(width / 3));
  if (cut === text && context.measureText(text).width <= width) return text;
  let low = 0;
  let high = cut.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${cut.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  cut = cut.slice(0, low);
  return low === 0 ? "" : `${cut}…`;
}

export function drawRuler(canvas: HTMLCanvasElement, shown: Window, marks: number[], text: (ns: number) => string, theme: Theme): void {
  const context = startDrawing(canvas);
  if (!context) return;
  const width = canvas.clientWidth;
  context.fillStyle = theme === "dark" ? "#a3adb8" : "#57606a";
  for (const mark of marks) {
    const x = ((mark - shown.from) / (shown.to - shown.from)) * width;
    context.fillRect(Math.round(x), canvas.clientHeight - 6, 1, 6);
    const label = text(mark);
    const room = context.measureText(label).width;
    context.fillText(label, Math.min(Math.max(0, x - room / 2), width - room), canvas.clientHeight / 2 - 3);
  }
}
