import { render } from "preact";
import type { ComponentType } from "preact";
import { Component, type ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { watchPrinting } from "./print";
import { slugsOf } from "./document";
import { type Contents, readContents, type Report } from "./report";
import { href, useRoute } from "./route";
import "./style.css";
import { restoreTheme, toggleTheme, useTheme } from "./theme";
import { Conditions } from "./views/conditions";
import { type Beside, DocumentView } from "./views/document";
import { Insights } from "./views/insights";
import { Kernels } from "./views/kernels";
import { LadderView } from "./views/ladder";
import { Layers } from "./views/layers";
import { Operators } from "./views/operators";
import { RooflineView } from "./views/roofline";
import { Summary } from "./views/summary";
import { Timelines } from "./views/timeline";
import { Where } from "./views/where";

// A view of a report that is more than its document: there people interact with data.
interface View {
  id: string;
  title: string;
  view: ComponentType<{ report: Report }>;
  holds?: (report: Report) => boolean; // whether the report has what it shows; default: always
}

const kViews: View[] = [
  { id: "summary", title: "Summary", view: Summary },
  { id: "where", title: "Where time goes", view: Where },
  { id: "operators", title: "Operators", view: Operators },
  { id: "layers", title: "Layers", view: Layers },
  { id: "timeline", title: "Timeline", view: Timelines, holds: traced },
  { id: "kernels", title: "Kernels", view: Kernels, holds: traced },
  { id: "roofline", title: "Roofline", view: RooflineView, holds: (report) => report.experiments.some((e) => e.roofline) },
  { id: "ladder", title: "ISA ladder", view: LadderView, holds: (report) => report.ladder !== null },
  { id: "insights", title: "Insights", view: Insights },
  { id: "conditions", title: "Conditions", view: Conditions },
];

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

// Charts of a report that stand above the table of that id in its document.
const kBeside: Beside = {};

interface Tab {
  id: string;
  title: string;
  draw: () => ComponentChildren;
}

function tabsOf({ report, documents }: Contents, at: string | null): Tab[] {
  const views = kViews.filter((view) => report && (view.holds?.(report) ?? true));
  const ids = slugsOf([...views.map((view) => view.id), ...documents.map((document) => document.title)]).slice(views.length);
  return [
    ...views.map(({ id, title, view: View }) => ({ id, title, draw: () => report && <View report={report} /> })),
    ...documents.map((document, i) => {
      const id = ids[i] as string;
      return { id, title: document.title, draw: () => <DocumentView document={document} id={id} at={at} report={report} beside={kBeside} /> };
    }),
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
const root = document.getElementById("app") as HTMLElement;
readContents(document)
  .then((contents) => {
    document.title = `${contents.title} · etprof`;
    render(<App contents={contents} />, root);
  })
  .catch((error: unknown) => {
    root.textContent = `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
  });
