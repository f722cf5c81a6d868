import { render } from "preact";
import type { ComponentType } from "preact";
import { Component, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { watchPrinting } from "./print";
import { Breakdown } from "./charts/breakdown";
import { LadderPicture } from "./charts/ladder";
import { LatencyCharts } from "./charts/latencies";
import { Modules } from "./charts/modules";
import { type Contents, readContents, type Report } from "./report";
import { comeBack, href, keepPlaces, useRoute } from "./route";
import "./style.css";
import { restoreTheme, toggleTheme, useTheme } from "./theme";
import { type Beside, DocumentView } from "./views/document";
import { Operators } from "./views/operators";
import { RooflineView } from "./views/roofline";
import { Timelines } from "./views/timeline";

// A view of a report that is more than its document: there people interact with data.
interface View {
  id: string;
  title: string;
  view: ComponentType<{ report: Report }>;
  holds: (report: Report) => boolean; // whether the report has what it shows
  tables: string[]; // of the document, of which it has every row
}

const kViews: View[] = [
  { id: "operators", title: "Operators", view: Operators, holds: traced, tables: ["operators", "changed_operators"] },
  { id: "timeline", title: "Timeline", view: Timelines, holds: traced, tables: [] },
  { id: "roofline", title: "Roofline", view: RooflineView, holds: (report) => report.experiments.some((e) => e.roofline), tables: ["roofline"] },
];

// Charts of a report that stand below the first table of one of these ids in its document.
const kBeside: Beside = {
  latency: LatencyCharts,
  self_times: Breakdown,
  side_by_side: Breakdown,
  ladder_groups: Breakdown,
  ladder_levels: LadderPicture,
  ladder_settings: LadderPicture,
  by_layer: Modules,
  compared_by_layer: Modules,
};

function traced(report: Report): boolean {
  return report.experiments.some((experiment) => experiment.operators !== undefined);
}

// A view that fails says so, and leaves the others.
class Guard extends Component<{ children: ComponentChildren; view: string }, { problem: string | null }> {
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

interface Tab {
  id: string;
  title: string;
  draw: () => ComponentChildren;
}

function tabsOf({ report, document }: Contents, at: string | null): Tab[] {
  const views = kViews.filter((view) => report && view.holds(report));
  const viewOf = (table: string) => views.find((view) => view.tables.includes(table));
  return [
    { id: "report", title: "Report", draw: () => <DocumentView document={document} id="report" at={at} report={report} beside={kBeside} viewOf={viewOf} /> },
    ...views.map(({ id, title, view: View }) => ({ id, title, draw: () => report && <View report={report} /> })),
  ];
}

function App({ contents }: { contents: Contents }) {
  const route = useRoute();
  const theme = useTheme();
  const all = tabsOf(contents, route.query.get("at"));
  const shown = all.find((tab) => tab.id === route.view) ?? (all[0] as Tab);
  const tabs = useRef<HTMLElement>(null);
  useEffect(() => {
    tabs.current?.querySelector("[aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
  }, [shown.id]);
  // A view begins at its top, before it leads to what the address asks for.
  useLayoutEffect(() => scrollTo(0, 0), [shown.id]);
  useEffect(comeBack, [route]);
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById("content")?.focus(); }}>
        To the content
      </a>
      <header>
        <h1>{contents.title}</h1>
        <p class="quiet">{contents.facts.join(" · ")}</p>
        <span class="fill" />
        <button type="button" onClick={toggleTheme}>
          {theme === "dark" ? "Light" : "Dark"}
        </button>
      </header>
      {all.length > 1 && (
        <nav aria-label="Views" ref={tabs}>
          {all.map((tab) => (
            <a key={tab.id} href={href(tab.id)} aria-current={tab.id === shown.id ? "page" : undefined}>
              {tab.title}
            </a>
          ))}
        </nav>
      )}
      {/* biome-ignore lint: the target of the link above */}
      <main id="content" tabIndex={-1}>
        <Guard view={shown.id} key={shown.id}>
          {shown.draw()}
        </Guard>
      </main>
      <footer class="quiet">Written by etprof. Everything here is in this file; nothing is loaded.</footer>
    </>
  );
}

restoreTheme();
watchPrinting();
keepPlaces();
const root = document.getElementById("app") as HTMLElement;
readContents(document)
  .then((contents) => {
    document.title = `${contents.title} · etprof`;
    render(<App contents={contents} />, root);
  })
  .catch((error: unknown) => {
    root.textContent = `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
  });
