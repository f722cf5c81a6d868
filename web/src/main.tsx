import { render } from "preact";
import type { ComponentType } from "preact";
import { Component, type ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { watchPrinting } from "./print";
import { readReport, type Report } from "./report";
import { href, useRoute } from "./route";
import "./style.css";
import { restoreTheme, toggleTheme, useTheme } from "./theme";
import { Conditions } from "./views/conditions";
import { Insights } from "./views/insights";
import { Kernels } from "./views/kernels";
import { LadderView } from "./views/ladder";
import { Layers } from "./views/layers";
import { Operators } from "./views/operators";
import { RooflineView } from "./views/roofline";
import { Summary } from "./views/summary";
import { Timelines } from "./views/timeline";
import { Where } from "./views/where";

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

function App({ report, title }: { report: Report; title: string }) {
  const route = useRoute();
  const theme = useTheme();
  const views = kViews.filter((view) => view.holds?.(report) ?? true);
  const shown = views.find((view) => view.id === route.view) ?? (views[0] as View);
  const View = shown.view;
  const tabs = useRef<HTMLElement>(null);
  useEffect(() => {
    tabs.current?.querySelector("[aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
  }, [shown.id]);
  const facts = [report.backend, report.dtype, report.platform].filter(Boolean).join(" · ");
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById("content")?.focus(); }}>
        To the content
      </a>
      <header>
        <h1>{title}</h1>
        <p class="quiet">
          {facts}
          {report.generated_at && ` · ${report.generated_at.slice(0, 10)}`}
        </p>
        <span class="fill" />
        <button type="button" onClick={toggleTheme}>
          {theme === "dark" ? "Light" : "Dark"}
        </button>
      </header>
      <nav aria-label="Views" ref={tabs}>
        {views.map((view) => (
          <a key={view.id} href={href(view.id)} aria-current={view.id === shown.id ? "page" : undefined}>
            {view.title}
          </a>
        ))}
      </nav>
      {/* biome-ignore lint: the target of the link above */}
      <main id="content" tabIndex={-1}>
        <Guard view={shown.id}>
          <View report={report} key={shown.id} />
        </Guard>
      </main>
      <footer class="quiet">Written by etprof. Everything here is in this file; nothing is loaded.</footer>
    </>
  );
}

restoreTheme();
watchPrinting();
const root = document.getElementById("app") as HTMLElement;
readReport(document)
  .then(({ report, title }) => {
    document.title = `${title} · etprof`;
    render(<App report={report} title={title} />, root);
  })
  .catch((error: unknown) => {
    root.textContent = `This report cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
  });
