import { Component, type ComponentChildren, type ComponentType, render } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { watchPrinting } from "./print";
import { Breakdown } from "./charts/breakdown";
import { LadderCharts } from "./charts/ladder";
import { LatencyCharts } from "./charts/latencies";
import { Modules } from "./charts/modules";
import { type Contents, readContents, type Report } from "./report";
import { restoreScroll, href, saveScrollOnClick, useRoute } from "./route";
import "./style.css";
import { restoreTheme, toggleTheme, useTheme } from "./theme";
import { type ChartsByTable, DocumentView } from "./views/document";
import { Operators } from "./views/operators";
import { RooflineView } from "./views/roofline";
import { Timelines } from "./views/timeline";

// An interactive view of a report, in addition to the view of its document.
interface View {
  id: string;
  title: string;
  view: ComponentType<{ report: Report }>;
  isAvailable: (report: Report) => boolean; // whether the report has the data that the view shows
  tables: string[]; // ids of the document's tables whose rows the view shows completely
}

const kViews: View[] = [
  { id: "operators", title: "Operators", view: Operators, isAvailable: traced, tables: ["report_operators", "changed_operators", "program_changes"] },
  { id: "timeline", title: "Timeline", view: Timelines, isAvailable: traced, tables: [] },
  { id: "roofline", title: "Roofline", view: RooflineView, isAvailable: (report) => report.experiments.some((e) => e.roofline), tables: ["roofline"] },
];

// Maps ids of tables to the chart that stands below the first of them in the document.
const kCharts: ChartsByTable = {
  report_latency: LatencyCharts,
  self_times: Breakdown,
  side_by_side: Breakdown,
  ladder_groups: Breakdown,
  ladder_levels: LadderCharts,
  ladder_settings: LadderCharts,
  by_layer: Modules,
  compared_by_layer: Modules,
};

function traced(report: Report): boolean {
  return report.experiments.some((experiment) => experiment.operators !== undefined);
}

// Shows the error of a view that fails to draw, so that the other views remain usable.
class ErrorBoundary extends Component<{ children: ComponentChildren; view: string }, { problem: string | null }> {
  override state = { problem: null };
  override componentDidCatch(error: unknown) {
    this.setState({ problem: String(error) });
  }
  override componentDidUpdate(before: { view: string }) {
    if (before.view !== this.props.view && this.state.problem) this.setState({ problem: null });
  }
  override render() {
    if (this.state.problem) return <p class="warning">This view could not be drawn: {this.state.problem}</p>;
    return this.props.children;
  }
}

declare const ETPROF_VERSION: string; // vite.config.ts

interface Tab {
  id: string;
  title: string;
  draw: () => ComponentChildren;
}

function makeTabs({ report, document }: Contents, at: string | null): Tab[] {
  const views = kViews.filter((view) => report && view.isAvailable(report));
  const viewOf = (table: string) => views.find((view) => view.tables.includes(table));
  return [
    { id: "report", title: "Report", draw: () => <DocumentView document={document} id="report" at={at} report={report} chartsByTable={kCharts} viewOf={viewOf} /> },
    ...views.map(({ id, title, view: View }) => ({ id, title, draw: () => report && <View report={report} /> })),
  ];
}

function App({ contents }: { contents: Contents }) {
  const route = useRoute();
  const theme = useTheme();
  const tabs = makeTabs(contents, route.query.get("at"));
  const current = tabs.find((tab) => tab.id === route.view) ?? (tabs[0] as Tab);
  const tabBar = useRef<HTMLElement>(null);
  useEffect(() => {
    tabBar.current?.querySelector("[aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
  }, [current.id]);
  // A new view is first scrolled to its top, and then to the section that the address names.
  useLayoutEffect(() => scrollTo(0, 0), [current.id]);
  useEffect(restoreScroll, [route]);
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById("content")?.focus(); }}>
        Skip to content
      </a>
      <header>
        <h1>{contents.title}</h1>
        <p class="quiet">{contents.facts.join(" · ")}</p>
        <span class="fill" />
        <button type="button" onClick={toggleTheme}>
          {theme === "dark" ? "Light" : "Dark"}
        </button>
      </header>
      {tabs.length > 1 && (
        <nav aria-label="Views" ref={tabBar}>
          {tabs.map((tab) => (
            <a key={tab.id} href={href(tab.id)} aria-current={tab.id === current.id ? "page" : undefined}>
              {tab.title}
            </a>
          ))}
        </nav>
      )}
      {/* biome-ignore lint: the target of the link above */}
      <main id="content" tabIndex={-1}>
        <ErrorBoundary view={current.id} key={current.id}>
          {current.draw()}
        </ErrorBoundary>
      </main>
      <footer class="quiet">Generated by etprof {ETPROF_VERSION}. Self-contained: no network access.</footer>
    </>
  );
}

restoreTheme();
watchPrinting();
saveScrollOnClick();
const root = document.getElementById("app") as HTMLElement;
readContents(document)
  .then((contents) => {
    document.title = `${contents.title} · etprof`;
    render(<App contents={contents} />, root);
  })
  .catch((error: unknown) => {
    root.textContent = `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
  });
