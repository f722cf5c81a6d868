import { BarChart, LineChart, ScatterChart } from "echarts/charts";
import { AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import { type EChartsCoreOption, type EChartsType, init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { useLayoutEffect, useRef } from "preact/hooks";
import { isPrinting, usePrinting } from "./print";
import { useTheme } from "./theme";

// ECharts provides steps, stacked bars, logarithmic axes, zoom, touch, and a description for screen readers. It draws
// SVG, which is sharp in print. The page contains only the components listed here.
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

// Colors of experiments, in order. Color-blind people can distinguish them (Okabe and Ito, "Color Universal Design",
// 2008). They are darkened or lightened for contrast with the page.
export const kColors = {
  light: ["#0072b2", "#d55e00", "#007f5f", "#a8518a", "#8a6d00", "#2f8fc4", "#5c5c5c"],
  dark: ["#56b4e9", "#f0904a", "#2fc79a", "#dd93bd", "#e6c84a", "#8fd0f5", "#a9a9a9"],
};

// Returns how many ticks fit on an axis that is `width` pixels long.
export function tickCount(width: number): number {
  return Math.max(2, Math.min(6, Math.floor(width / 160)));
}

function fit(chart: EChartsType): void {
  chart.resize();
  chart.setOption({ xAxis: { splitNumber: tickCount(chart.getWidth()) } });
}

export function Chart(props: { option: EChartsCoreOption; height: number; label: string }) {
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | null>(null);
  const theme = useTheme();
  const printing = usePrinting();
  useLayoutEffect(() => {
    if (!element.current) return;
    const created = init(element.current, undefined, { renderer: "svg" });
    chart.current = created;
    const observer = new ResizeObserver(() => {
      if (!isPrinting()) fit(created);
    });
    observer.observe(element.current);
    return () => {
      observer.disconnect();
      created.dispose();
      chart.current = null;
    };
  }, []);
  const drawnOption = useRef<EChartsCoreOption | null>(null);
  useLayoutEffect(() => {
    // A change of theme and printing keep the reader's zoom.
    type Zoom = { startValue?: number; endValue?: number };
    const zooms = drawnOption.current === props.option ? (chart.current?.getOption()?.dataZoom as Zoom[] | undefined) : undefined;
    const dataZoom = (props.option.dataZoom as Zoom[] | undefined)?.map((zoom, i) => ({ ...zoom, ...(zooms?.[i] ? { startValue: zooms[i].startValue, endValue: zooms[i].endValue } : {}) }));
    drawnOption.current = props.option;
    const ink = theme === "dark" ? "#d7dbe0" : "#24292f";
    const faint = theme === "dark" ? "#3a414a" : "#d8dde3";
    const axis = {
      axisLine: { lineStyle: { color: ink } },
      axisLabel: { color: ink, hideOverlap: true },
      nameTextStyle: { color: ink },
      splitLine: { lineStyle: { color: faint } },
    };
    const withAxisStyle = (axisOptions: unknown) =>
      (Array.isArray(axisOptions) ? axisOptions : [axisOptions]).map((axisOption: { axisLabel?: object }) => ({
        ...axis,
        ...axisOption,
        axisLabel: { ...axis.axisLabel, ...axisOption.axisLabel },
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
          ...(printing ? { type: "plain" } : {}), // a legend on paper cannot be scrolled, so it shows all entries
        },
        xAxis: withAxisStyle(props.option.xAxis).map((axisOption) => ({ splitNumber: tickCount(element.current?.clientWidth ?? 0), ...axisOption })),
        yAxis: withAxisStyle(props.option.yAxis),
      },
      { notMerge: true },
    );
  }, [props.option, props.label, theme, printing]);
  // The browser lays out the pages right after this, so the chart takes the paper's width and is drawn immediately.
  useLayoutEffect(() => {
    if (chart.current) fit(chart.current);
    chart.current?.getZr().flush();
  }, [printing]);
  return <div class="chart" ref={element} style={{ height: props.height }} />;
}
