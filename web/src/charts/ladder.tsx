import type { EChartsCoreOption } from "echarts/core";
import { useMemo } from "preact/hooks";
import { Chart } from "../chart";
import { axisTimesUpTo, time } from "../format";
import type { Ladder, Report } from "../report";

const threadsText = (threads: number): string => (threads === 1 ? "1 thread" : `${threads} threads`);

function LadderChart({ ladder }: { ladder: Ladder }) {
  const option = useMemo<EChartsCoreOption>(
    () => ({
      grid: { left: 70, right: 30, top: 40, bottom: 40 },
      legend: { show: ladder.threads.length > 1 },
      tooltip: { trigger: "axis", valueFormatter: (value: unknown) => time(value as number) },
      xAxis: { type: "category", data: ladder.levels.map((level) => level.name) },
      yAxis: { type: "value", name: "latency", min: 0, axisLabel: { formatter: axisTimesUpTo(Math.max(0, ...ladder.latency.cells.map((cell) => cell.ms ?? 0))) } },
      series: ladder.threads.map((threads) => ({
        name: threadsText(threads),
        type: "line",
        symbolSize: 9,
        data: ladder.levels.map((level) => ladder.latency.cells.find((cell) => cell.level === level.name && cell.threads === threads)?.ms ?? null),
      })),
    }),
    [ladder],
  );
  return <Chart option={option} height={320} label={`Median latency at each of ${ladder.levels.length} levels, with ${ladder.threads.map(threadsText).join(", ")}.`} />;
}

export function LadderCharts({ report }: { report: Report }) {
  return report.ladder && <LadderChart ladder={report.ladder} />;
}
