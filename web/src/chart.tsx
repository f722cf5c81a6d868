import { BarChart, LineChart, ScatterChart } from "echarts/charts";
import { AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import { type EChartsCoreOption, type EChartsType, init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { useLayoutEffect, useRef } from "preact/hooks";
import { isPrinting, usePrinting } from "./print";
import { useTheme } from "./theme";

// ECharts: steps, stacked bars, logarithmic axes, zoom, touch, and a description for screen readers, drawn as
// SVG (sharp in print). Only what is used is in the page.
use([
  BarChart,
  LineChart,
  ScatterChart,
  AriaComponent,
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TooltipComponent,
  SVGRenderer,
]);

// Colors of experiments, one after another: told apart by people who see colors otherwise (Okabe and Ito,
// "Color Universal Design", 2008), darkened or lightened for contrast with the page.
export const kColors = {
  light: ["#0072b2", "#d55e00", "#007f5f", "#a8518a", "#8a6d00", "#2f8fc4", "#5c5c5c"],
  dark: ["#56b4e9", "#f0904a", "#2fc79a", "#dd93bd", "#e6c84a", "#8fd0f5", "#a9a9a9"],
};

// How many marks an axis of so many pixels has room for.
export function ticksIn(width: number): number {
  return Math.max(2, Math.min(6, Math.floor(width / 160)));
}

function fit(chart: EChartsType): void {
  chart.resize();
  chart.setOption({ xAxis: { splitNumber: ticksIn(chart.getWidth()) } });
}

export function Chart(props: { option: EChartsCoreOption; height: number; label: string }) {
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | null>(null);
  const theme = useTheme();
  const printing = usePrinting();
  useLayoutEffect(() => {
    if (!element.current) return;
    const made = init(element.current, undefined, { renderer: "svg" });
    chart.current = made;
    const observer = new ResizeObserver(() => {
      if (!isPrinting()) fit(made);
    });
    observer.observe(element.current);
    return () => {
      observer.disconnect();
      made.dispose();
      chart.current = null;
    };
  }, []);
  const drawn = useRef<EChartsCoreOption | null>(null);
  useLayoutEffect(() => {
    // The reader's zoom outlives another theme, and is on paper as on the screen.
    type Zoom = { startValue?: number; endValue?: number };
    const zooms = drawn.current === props.option ? (chart.current?.getOption()?.dataZoom as Zoom[] | undefined) : undefined;
    const dataZoom = (props.option.dataZoom as Zoom[] | undefined)?.map((one, i) => ({ ...one, ...(zooms?.[i] ? { startValue: zooms[i].startValue, endValue: zooms[i].endValue } : {}) }));
    drawn.current = props.option;
    const ink = theme === "dark" ? "#d7dbe0" : "#24292f";
    const faint = theme === "dark" ? "#3a414a" : "#d8dde3";
    const axis = {
      axisLine: { lineStyle: { color: ink } },
      axisLabel: { color: ink, hideOverlap: true },
      nameTextStyle: { color: ink },
      splitLine: { lineStyle: { color: faint } },
    };
    const withAxis = (given: unknown) =>
      (Array.isArray(given) ? given : [given]).map((one: { axisLabel?: object }) => ({
        ...axis,
        ...one,
        axisLabel: { ...axis.axisLabel, ...one.axisLabel },
      }));
    chart.current?.setOption(
      {
        animation: false,
        textStyle: { fontFamily: getComputedStyle(document.body).fontFamily },
        color: kColors[theme],
        aria: { enabled: true, label: { description: props.label } },
        tooltip: {
          backgroundColor: theme === "dark" ? "#1c2128" : "#ffffff",
          borderColor: faint,
          textStyle: { color: ink },
          confine: true,
        },
        ...props.option,
        ...(dataZoom ? { dataZoom } : {}),
        legend: {
          textStyle: { color: ink },
          top: 0,
          ...((props.option.legend as object) ?? {}),
          ...(printing ? { type: "plain" } : {}), // all of it: paper cannot be scrolled
        },
        xAxis: withAxis(props.option.xAxis).map((one) => ({ splitNumber: ticksIn(element.current?.clientWidth ?? 0), ...one })),
        yAxis: withAxis(props.option.yAxis),
      },
      { notMerge: true },
    );
  }, [props.option, props.label, theme, printing]);
  // In the width of the paper, and drawn at once: the pages are laid out next.
  useLayoutEffect(() => {
    if (chart.current) fit(chart.current);
    chart.current?.getZr().flush();
  }, [printing]);
  return <div class="chart" ref={element} style={{ height: props.height }} />;
}
