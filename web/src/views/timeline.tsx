import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { spanColor, drawArea, drawOverview, drawRuler, drawSpans, ROW, type Window } from "../canvas";
import { share, time, timesUpTo } from "../format";
import { Choice, Facts, programFacts, Section } from "../parts";
import { isPrinting, usePrinting } from "../print";
import { type Operator, type Report, callNumbers, findVariants } from "../report";
import { href, setQuery, useRoute } from "../route";
import { type Column, DataTable } from "../table";
import { useTheme } from "../theme";
import { type AreaSum, counterparts, type ExperimentTimeline, makeModuleSpans, nameSpans, readTimeline, sibling, type Spans, spanAt, makeSpans, makeWatchedSpans, sumArea, type Timeline, type TimelineOperator, ticks } from "../timeline";

const ms = (ns: number): string => time(ns / 1e6);
// All marks of the ruler have the unit of the longest, so that they can be compared.
function rulerText(shown: Window): (ns: number) => string {
  const span = shown.to - shown.from;
  const [unit, scale] = shown.to >= 1e6 ? ["ms", 1e6] : shown.to >= 1e3 ? ["µs", 1e3] : ["ns", 1];
  const decimals = Math.max(0, Math.min(6, Math.ceil(Math.log10(scale / span)) + 1));
  return (ns) => `${(ns / scale).toFixed(ns === 0 ? 0 : decimals)} ${unit}`;
}

// A lane shows one run of one experiment, its modules, or its watched run.
interface Lane {
  experiment: number; // index in report.experiments
  name: string;
  kind: "run" | "watched" | "modules"; // watched: with a row per thread below the operators; modules: of the lane above
  timeline: ExperimentTimeline;
  run: number; // index into timeline.runs
  missing: string; // message if the file lacks the run in the address; else ""
  spans: Spans;
  names: string[]; // one per span
}

interface SelectedSpan {
  lane: number;
  span: number;
}
type Hover = SelectedSpan & { x: number; y: number };

const kMinWindow = 20; // ns, the shortest time that zooming in can show

const kKeys: [string, string][] = [
  ["W, S", "zoom in and out at the pointer; also the wheel with Ctrl, and two fingers"],
  ["A, D", "move left and right; also the wheel with Shift, and dragging"],
  ["F", "fit the selected span; again, or with none selected: the whole run"],
  [". and ,", "next and previous span of the same depth"],
  ["↓ and ↑", "into the first span inside, and out to the one around"],
  ["R", "sums of the part that is shown; or Shift and dragging: of that area"],
  ["/", "search; Enter goes from match to match"],
  ["Enter", "the selected operator in the table of operators"],
  ["Esc", "clear the selection"],
  ["?", "show these keys"],
];

function runText(timeline: ExperimentTimeline, index: number): string {
  const run = timeline.runs[index];
  if (!run) return "";
  const phase = run.phase === "steady" ? "" : `, ${run.phase}`;
  return `run ${run.run}: ${ms(run.times[1] ?? 0)}${index === timeline.median ? ", the median" : ""}${phase}`;
}

// Returns text such as "1.34 ms; below the operators a row for each of 2 threads, from its first task to its last".
function watchedText(timeline: ExperimentTimeline): string {
  const run = timeline.watched;
  if (!run) return "";
  const omitted = run.left_out > 0 ? ` (${run.left_out} more are left out)` : "";
  return `${ms(run.times[1] ?? 0)}; below the operators a row for each of ${run.threads} thread${run.threads === 1 ? "" : "s"}, from its first task to its last${omitted}`;
}

const laneText = (lane: Lane): string =>
  lane.kind === "watched" ? watchedText(lane.timeline) : `${lane.kind === "modules" ? "the modules that its operators are of, " : ""}${runText(lane.timeline, lane.run)}`;

// Describes a span in a thread's row, as in "thread 1: 12 tasks, 80% busy". Returns "" for other spans.
function sliceText(timeline: ExperimentTimeline, span: number): string {
  const run = timeline.watched;
  const slice = span - (run?.op.length ?? 0);
  if (!run || slice < 0) return "";
  const tasks = run.slices.tasks[slice] ?? 0;
  const length = run.slices.times[2 * slice + 1] ?? 0;
  const busy = length > 0 ? `, ${share((run.slices.busy[slice] ?? 0) / length)} busy` : "";
  return `thread ${run.slices.thread[slice]}: ${tasks} task${tasks === 1 ? "" : "s"}${busy}`;
}

// Returns the time of the run that a lane shows, ns. The first span of a lane of modules is only a part of its run.
export function runLength({ kind, timeline, run }: Pick<Lane, "kind" | "timeline" | "run">): number {
  return (kind === "watched" ? timeline.watched : timeline.runs[run])?.times[1] ?? 0;
}

// While the reader types into an element, keys belong to that element.
export function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return element !== null && (["INPUT", "SELECT", "TEXTAREA"].includes(element.tagName) || element.isContentEditable === true);
}

// Returns a message if the address names a run that the file does not contain, else "".
export function missingRun(timeline: ExperimentTimeline, requested: string | null): string {
  if (requested === null || requested === "" || timeline.runs.some((run) => run.run === Number(requested))) return "";
  return `run ${requested} is not in this file: ${timeline.median === null ? "its first run" : "the median run"} is shown`;
}

// Returns the index of the run that the address names, else of the median run, else 0.
export function selectedRunIndex(timeline: ExperimentTimeline, requested: string | null): number {
  if (requested !== null && requested !== "") {
    const index = timeline.runs.findIndex((run) => run.run === Number(requested));
    if (index >= 0) return index;
  }
  return timeline.median ?? 0;
}

// Zooms by `factor` (below 1: in). The time `at` keeps its place on the screen, and the window stays within the run.
export function zoomWindow(shown: Window, at: number, factor: number, whole: number): Window {
  const width = Math.min(whole, Math.max(kMinWindow, (shown.to - shown.from) * factor));
  const part = (at - shown.from) / (shown.to - shown.from);
  return moveWindow({ from: at - part * width, to: at + (1 - part) * width }, 0, whole);
}

export function moveWindow(shown: Window, by: number, whole: number): Window {
  const width = Math.min(whole, shown.to - shown.from);
  const from = Math.min(Math.max(0, shown.from + by), whole - width);
  return { from, to: from + width };
}

export function Timelines({ report }: { report: Report }) {
  const [data, setData] = useState<Timeline | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    readTimeline(document).then(setData, (error: unknown) => setProblem(String(error)));
  }, []);
  if (problem) return <p class="warning">The timelines cannot be shown: {problem}</p>;
  if (!data) return <p class="quiet">Unpacking…</p>;
  if (data.experiments.every((timeline) => timeline === null)) return <p>No experiment has a complete traced run.</p>;
  return <LanesView report={report} data={data} />;
}

function LanesView({ report, data }: { report: Report; data: Timeline }) {
  const { query } = useRoute();
  const requestedRuns = data.experiments.map((_, i) => query.get(`run${i}`)).join();
  const lanes = useMemo<Lane[]>(
    () =>
      data.experiments.flatMap((timeline, experiment) => {
        if (!timeline) return [];
        const run = selectedRunIndex(timeline, query.get(`run${experiment}`));
        const operatorsByKey = new Map(report.experiments[experiment]?.operators?.map((op) => [op.key, op]));
        const makeLane = (kind: Lane["kind"], name: string, spans: Spans, laneTimeline = timeline): Lane => ({
          experiment,
          timeline: laneTimeline,
          run,
          missing: missingRun(timeline, query.get(`run${experiment}`)),
          kind,
          name,
          spans,
          names: nameSpans(spans, laneTimeline.operators, (key) => operatorsByKey.get(key)?.backend).map((fullName) => (kind === "modules" ? fullName.split(".").slice(-2).join(".") : fullName)),
        });
        const spans = makeSpans(timeline, run);
        const modules = makeModuleSpans(spans, timeline.operators, (key) => operatorsByKey.get(key)?.program?.layer);
        return [
          makeLane("run", timeline.label, spans),
          ...(modules ? [makeLane("modules", `${timeline.label}, modules`, modules.spans, { ...timeline, operators: modules.operators })] : []),
          ...(timeline.watched ? [makeLane("watched", `${timeline.label}, watched`, makeWatchedSpans(timeline.watched))] : []),
        ];
      }),
    [report, data, requestedRuns],
  );
  const runs = useMemo(() => lanes.filter((lane) => lane.kind === "run"), [lanes]);
  const whole = Math.max(1, ...lanes.map((lane) => lane.spans.end[0] ?? 0));
  const theme = useTheme();
  const frame = useRef<HTMLDivElement>(null);
  const ruler = useRef<HTMLCanvasElement>(null);
  const overview = useRef<HTMLCanvasElement>(null);
  const [area, setArea] = useState<Window | null>(null); // the sums of this area are shown
  const marking = useRef<{ from: number; area: Window } | null>(null); // the area that is being dragged
  const search = useRef<HTMLInputElement>(null);
  const canvases = useRef<(HTMLCanvasElement | null)[]>([]);
  const shown = useRef<Window>({ from: 0, to: whole });
  const pointer = useRef<number | null>(null); // the last x position of the pointer within a canvas
  const [selected, setSelected] = useState<SelectedSpan | null>(null);
  const tip = useRef<(hover: Hover | null) => void>(() => {});
  const [text, setText] = useState("");
  const [help, setHelp] = useState(false);
  const [listedLane, setListedLane] = useState(0);

  const isMatch = (lane: Lane, op: number): boolean => (lane.timeline.operators[op]?.name ?? "").toLowerCase().includes(text.toLowerCase());
  const others = useMemo(() => {
    const lane = selected && lanes[selected.lane];
    const op = lane?.timeline.operators[lane.spans.op[selected?.span ?? -1] ?? -1];
    return lane && op ? counterparts(report, lane.experiment, op.key) : new Map<number, string>();
  }, [report, lanes, selected]);

  const draw = () => {
    if (ruler.current) drawRuler(ruler.current, shown.current, ticks(shown.current.from, shown.current.to, ruler.current.clientWidth / 110), rulerText(shown.current), theme);
    if (overview.current) {
      drawOverview(overview.current, runs, whole, theme);
      drawArea(overview.current, { from: 0, to: whole }, shown.current, theme);
    }
    const markedArea = marking.current?.area ?? area;
    lanes.forEach((lane, i) => {
      const canvas = canvases.current[i];
      if (!canvas) return;
      const box = canvas.getBoundingClientRect();
      if (!isPrinting() && (box.bottom < 0 || box.top > innerHeight)) return; // drawn when it comes into view
      drawSpans(
        canvas,
        lane.timeline,
        lane.spans,
        lane.names,
        shown.current,
        {
          selected: selected?.lane === i ? selected.span : -1,
          counterpart: others.get(lane.experiment),
          matches: text ? (op) => isMatch(lane, op) : null,
        },
        theme,
      );
      if (markedArea) drawArea(canvas, shown.current, markedArea, theme);
    });
  };
  const drawLatest = useRef(draw);
  drawLatest.current = draw;
  const printing = usePrinting();
  useLayoutEffect(() => drawLatest.current(), [printing]); // drawn immediately, because the browser lays out the pages next
  const pending = useRef(0);
  const redraw = () => {
    if (pending.current) return;
    pending.current = requestAnimationFrame(() => {
      pending.current = 0;
      drawLatest.current();
    });
  };
  useEffect(() => {
    shown.current = moveWindow(shown.current, 0, whole);
    redraw();
  });
  useEffect(() => {
    shown.current = { from: 0, to: whole };
    redraw();
  }, [whole]);
  useEffect(() => {
    const observer = new ResizeObserver(redraw);
    if (frame.current) observer.observe(frame.current);
    addEventListener("scroll", redraw, { passive: true });
    return () => {
      observer.disconnect();
      removeEventListener("scroll", redraw);
      cancelAnimationFrame(pending.current);
      pending.current = 0;
    };
  }, []);

  const width = () => ruler.current?.clientWidth || 1;
  const timeAt = (x: number) => shown.current.from + (x / width()) * (shown.current.to - shown.current.from);
  const show = (next: Window) => {
    shown.current = next;
    tip.current(null);
    redraw();
  };
  const zoom = (factor: number, x: number | null) => show(zoomWindow(shown.current, timeAt(x ?? width() / 2), factor, whole));
  const pan = (part: number) => show(moveWindow(shown.current, part * (shown.current.to - shown.current.from), whole));

  // `reveal` moves the window to the span, for selections that are not made with the pointer.
  const choose = (next: SelectedSpan | null, reveal = false) => {
    setSelected(next);
    const spans = next && lanes[next.lane]?.spans;
    if (!next || !spans || !reveal) return;
    const start = spans.start[next.span] as number;
    const end = spans.end[next.span] as number;
    const { from, to } = shown.current;
    if (start < from || end > to) show(moveWindow({ from, to }, (start + end) / 2 - (from + to) / 2, whole));
  };
  const fit = () => {
    const spans = selected && lanes[selected.lane]?.spans;
    const start = spans && (spans.start[selected.span] as number);
    const end = spans && (spans.end[selected.span] as number);
    const pad = spans ? Math.max(kMinWindow / 2, ((end as number) - (start as number)) * 0.05) : 0;
    const fitted = spans ? moveWindow({ from: (start as number) - pad, to: (end as number) + pad }, 0, whole) : null;
    const isFitted = fitted && Math.abs(fitted.from - shown.current.from) < 1 && Math.abs(fitted.to - shown.current.to) < 1;
    show(fitted && !isFitted ? fitted : { from: 0, to: whole });
  };
  const matches = useMemo<SelectedSpan[]>(() => {
    if (!text) return [];
    return lanes.flatMap((lane, laneIndex) => lane.spans.op.flatMap((op, span) => (isMatch(lane, op) ? [{ lane: laneIndex, span }] : [])));
  }, [text, lanes]);
  const matchAfter = (step: SelectedSpan | null): SelectedSpan | null => {
    const next = matches.findIndex((match) => step !== null && (match.lane > step.lane || (match.lane === step.lane && match.span > step.span)));
    return matches[next >= 0 ? next : 0] ?? null;
  };

  const goToOperator = () => {
    const lane = selected && lanes[selected.lane];
    const op = lane?.timeline.operators[lane.spans.op[selected?.span ?? -1] ?? -1];
    if (op && (op.kind === "kernel" || op.kind === "backend")) location.hash = operatorAddress(report, (lane as Lane).experiment, op.key);
  };
  const step = (by: 1 | -1) => {
    const current = selected ?? { lane: 0, span: 0 };
    const spans = lanes[current.lane]?.spans;
    if (spans) choose({ lane: current.lane, span: selected ? sibling(spans, current.span, by) : 0 }, true);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const lane = selected && lanes[selected.lane];
    const actions: Record<string, () => void> = {
      w: () => zoom(0.7, pointer.current),
      s: () => zoom(1 / 0.7, pointer.current),
      a: () => pan(-0.15),
      d: () => pan(0.15),
      f: fit,
      ".": () => step(1),
      ",": () => step(-1),
      "/": () => search.current?.focus(),
      r: () => setArea({ ...shown.current }),
      "?": () => setHelp((open) => !open),
      Escape: () => {
        choose(null);
        setArea(null);
      },
      Enter: goToOperator,
      ArrowDown: () => {
        const inside = lane ? Array.from(lane.spans.parent).indexOf(selected?.span ?? -1) : 0;
        if (inside >= 0) choose({ lane: selected?.lane ?? 0, span: inside }, true);
      },
      ArrowUp: () => {
        const parent = lane ? (lane.spans.parent[selected?.span ?? 0] as number) : -1;
        if (parent >= 0) choose({ lane: (selected as SelectedSpan).lane, span: parent }, true);
      },
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    // Buttons, links, and scrolling elements use Enter and arrows themselves. The timeline handles these keys only if it
    // has the focus, or if no element has the focus and a span is selected.
    if (event.key.length > 1 && event.key !== "Escape") {
      const handlesKey = event.target === document.body ? selected !== null : frame.current?.contains(event.target as Node);
      if (!handlesKey || (event.key === "Enter" && event.target instanceof HTMLButtonElement)) return;
    }
    event.preventDefault();
    action();
  };

  // The listener is on the document, so that keys work wherever the focus is.
  const onKeyLatest = useRef(onKey);
  onKeyLatest.current = onKey;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => onKeyLatest.current(event);
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, []);

  useWheel(frame, (event, x) => {
    if (event.ctrlKey || event.metaKey) zoom(Math.exp(event.deltaY * 0.003), x);
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan((event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX) / width());
    else return false;
    return true;
  });
  const fingers = useRef(new Map<number, { x: number; y: number }>());
  const dragged = useRef(false);
  const find = (lane: number, x: number, y: number): number => {
    const spans = lanes[lane]?.spans;
    const reach = (3 / width()) * (shown.current.to - shown.current.from);
    return spans ? spanAt(spans, Math.floor(y / ROW), timeAt(x), reach) : -1;
  };
  const onPointer = (event: PointerEvent, lane: number) => {
    const canvas = event.currentTarget as HTMLCanvasElement;
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    pointer.current = x;
    const pointers = fingers.current;
    if (event.type === "pointerdown") {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, { x, y });
      dragged.current = pointers.size > 1;
      marking.current = event.shiftKey ? { from: timeAt(x), area: { from: timeAt(x), to: timeAt(x) } } : null;
      frame.current?.focus({ preventScroll: true });
      return;
    }
    const previous = pointers.get(event.pointerId);
    if (event.type === "pointermove") {
      if (!previous) {
        const span = find(lane, x, y);
        tip.current(span < 0 ? null : { lane, span, x: event.clientX, y: event.clientY });
        return;
      }
      if (!dragged.current && Math.abs(x - previous.x) < 4) return;
      dragged.current = true;
      if (marking.current) {
        const [from, to] = [marking.current.from, Math.min(whole, Math.max(0, timeAt(x)))];
        marking.current.area = { from: Math.min(from, to), to: Math.max(from, to) };
        redraw();
        return;
      }
      const [first, second] = [...pointers.values()];
      if (first && second) {
        const oldDistance = Math.abs(first.x - second.x);
        pointers.set(event.pointerId, { x, y });
        const [newFirst, newSecond] = [...pointers.values()];
        const newDistance = Math.abs((newFirst?.x ?? 0) - (newSecond?.x ?? 0));
        if (oldDistance > 8 && newDistance > 8) zoom(oldDistance / newDistance, ((newFirst?.x ?? 0) + (newSecond?.x ?? 0)) / 2);
        return;
      }
      pointers.set(event.pointerId, { x, y });
      pan((previous.x - x) / width());
      return;
    }
    pointers.delete(event.pointerId);
    if (marking.current && dragged.current) setArea(marking.current.area);
    marking.current = null;
    if (event.type === "pointerup" && !dragged.current) {
      const span = find(lane, x, y);
      choose(span < 0 ? null : { lane, span });
    }
  };

  // The part that is shown goes to where the overview is pressed.
  const onOverview = (event: PointerEvent) => {
    if (!(event.buttons & 1)) return;
    const canvas = event.currentTarget as HTMLCanvasElement;
    if (event.type === "pointerdown") canvas.setPointerCapture(event.pointerId);
    const at = ((event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth) * whole;
    show(moveWindow(shown.current, at - (shown.current.from + shown.current.to) / 2, whole));
  };

  const list = lanes[listedLane] ?? lanes[0];
  return (
    <>
      <Section title="Timeline" note="One run of each experiment, from the start of Method::execute, and one whose calls were watched, if any. The width of a box is its time; what a box contains is below it. Drag with Shift to sum up an area.">
        {/* biome-ignore lint: so that arrows and Enter reach it by the keyboard */}
        <div class="timeline" ref={frame} tabIndex={0} role="group" aria-label="Timeline: the keys W, A, S and D zoom and move, the question mark lists all keys">
          <div class="choices">
            <input
              type="search"
              ref={search}
              placeholder="Search"
              aria-label="Search operators"
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === "Enter") choose(matchAfter(selected), true);
                if (event.key === "Escape") frame.current?.focus();
              }}
            />
            <output class="quiet">{text ? `${matches.length} ${matches.length === 1 ? "span" : "spans"}` : ""}</output>
            <button type="button" aria-label="Zoom in" onClick={() => zoom(0.5, null)}>
              +
            </button>
            <button type="button" aria-label="Zoom out" onClick={() => zoom(2, null)}>
              −
            </button>
            <button type="button" onClick={() => show({ from: 0, to: whole })}>
              Whole run
            </button>
            <button type="button" onClick={() => setArea({ ...shown.current })}>
              Sums
            </button>
            <button type="button" aria-expanded={help} onClick={() => setHelp(!help)}>
              Keys
            </button>
          </div>
          {help && <Facts facts={kKeys} />}
          <canvas class="overview" ref={overview} style={{ height: 8 * runs.length }} role="img" aria-label="The whole runs; the part that is shown below is bright" onPointerDown={onOverview} onPointerMove={onOverview} />
          <canvas class="ruler" ref={ruler} role="img" aria-label="Time since the start of the run" />
          {lanes.map((lane, i) => (
            <div key={lane.name} class="lane">
              <div class="choices">
                <b>{lane.name}</b>
                {lane.kind === "watched" && <span class="quiet">{watchedText(lane.timeline)}</span>}
                {lane.kind === "run" && (
                  <>
                    <Choice
                      label=""
                      name={`Run of ${lane.timeline.label}`}
                      value={lane.run}
                      options={lane.timeline.runs.map((_, index) => ({ value: index, text: runText(lane.timeline, index) }))}
                      onChange={(index) => setQuery(`run${lane.experiment}`, index === lane.timeline.median ? undefined : String(lane.timeline.runs[index]?.run))}
                    />
                    {(lane.timeline.runs.length === 1 || printing) && <span class="quiet">{runText(lane.timeline, 0)}</span>}
                    {lane.missing && <span class="quiet">{lane.missing}</span>}
                    {lane.timeline.runs.length < lane.timeline.traced_runs && (
                      <span class="quiet">
                        {lane.timeline.runs.length} of {lane.timeline.traced_runs} traced runs are in this file; etprof trace exports all of them
                      </span>
                    )}
                  </>
                )}
              </div>
              <canvas
                ref={(element) => {
                  canvases.current[i] = element;
                }}
                style={{ height: lane.spans.levels.length * ROW }}
                role="img"
                aria-label={`${lane.name}, ${laneText(lane)}, ${lane.spans.op.length} spans, which the table below lists`}
                onPointerDown={(event) => onPointer(event, i)}
                onPointerMove={(event) => onPointer(event, i)}
                onPointerUp={(event) => onPointer(event, i)}
                onPointerCancel={(event) => onPointer(event, i)}
                onPointerLeave={() => tip.current(null)}
              />
            </div>
          ))}
          <Legend lanes={lanes} />
        </div>
        <SpanTooltip lanes={lanes} report={report} show={tip} />
        <div class="dock">
          {area && <AreaSums runs={runs} report={report} area={area} close={() => setArea(null)} />}
          {selected && lanes[selected.lane] && (
            <aside class="details" aria-label="Selected span" aria-live="polite">
              <button type="button" class="close" onClick={() => choose(null)}>
                Close
              </button>
              <SpanDetails lane={lanes[selected.lane] as Lane} span={selected.span} report={report} />
              {[...others].map(([experiment, key]) => {
                const lane = lanes.find((other) => other.experiment === experiment);
                const op = lane?.timeline.operators.findIndex((operator) => operator.key === key) ?? -1;
                const span = lane?.spans.op.indexOf(op) ?? -1;
                return lane && span >= 0 ? <SpanDetails key={experiment} lane={lane} span={span} report={report} /> : null;
              })}
            </aside>
          )}
        </div>
      </Section>
      {list && (
        <Section title={`Spans of ${list.name}`} note={`${laneText(list)}. Self time excludes the spans inside${list.kind === "watched" ? ", but not the tasks of threads" : "; the self times add up to the run"}.`}>
          <SpanTable
            lane={list}
            report={report}
            onChoose={(span) => {
              choose({ lane: lanes.indexOf(list), span }, true);
              frame.current?.scrollIntoView({ block: "nearest" });
            }}
          >
            <Choice label="Experiment" value={lanes.indexOf(list)} options={lanes.map((lane, i) => ({ value: i, text: lane.name }))} onChange={setListedLane} />
          </SpanTable>
        </Section>
      )}
    </>
  );
}

// Shows the self time of each type of operator in an area of time, for each run.
function AreaSums({ runs, report, area, close }: { runs: Lane[]; report: Report; area: Window; close: () => void }) {
  const rows = useMemo(() => {
    const types = new Map<string, (AreaSum | undefined)[]>();
    runs.forEach((lane, index) => {
      const typeOf = (op: number): string => {
        const operator = lane.timeline.operators[op];
        return (operator && findOperator(report, lane, operator)?.type) ?? operator?.name ?? "";
      };
      for (const sum of sumArea(lane.spans, area.from, area.to, typeOf)) {
        const row = types.get(sum.type) ?? runs.map(() => undefined);
        row[index] = sum;
        types.set(sum.type, row);
      }
    });
    return [...types].map(([type, sums]) => ({ type, sums }));
  }, [runs, report, area]);
  const times = timesUpTo((area.to - area.from) / 1e6);
  const columns = useMemo(
    () => [
      { id: "type", title: "Type", value: (r) => r.type } as Column<(typeof rows)[number]>,
      ...runs.flatMap((lane, index): Column<(typeof rows)[number]>[] => [
        { id: `self${index}`, title: `${lane.name}, ${times.unit}`, heading: lane.name, value: (r) => (r.sums[index] ? r.sums[index].self / 1e6 : null), text: (r) => times.text(r.sums[index] && r.sums[index].self / 1e6), unit: "ms", numeric: true, bar: (r) => (r.sums[index]?.self ?? 0) / (area.to - area.from), narrowOrder: 0 },
        { id: `count${index}`, title: "Count", heading: `${lane.name}: count`, value: (r) => r.sums[index]?.count ?? null, numeric: true },
      ]),
    ],
    [runs, area],
  );
  return (
    <aside class="details" aria-label="Sums of an area">
      <button type="button" class="close" onClick={close}>
        Close
      </button>
      <div>
        <h3>
          {ms(area.from)} to {ms(area.to)}: {ms(area.to - area.from)}
        </h3>
        <DataTable rows={rows} columns={columns} name="sums" sort={{ id: "self0", descending: true }} />
        <p class="quiet">Self time by type of operator. A span that reaches beyond the area counts with its part.</p>
      </div>
    </aside>
  );
}

// Calls `onWheel` for wheel events before the page scrolls. If `onWheel` returns true, the page does not scroll.
function useWheel(frame: RefObject<HTMLDivElement>, onWheel: (event: WheelEvent, x: number) => boolean) {
  const latest = useRef(onWheel);
  latest.current = onWheel;
  useEffect(() => {
    const element = frame.current;
    const listen = (event: WheelEvent) => {
      const box = (event.target as Element).closest("canvas:not(.overview)")?.getBoundingClientRect();
      if (box && latest.current(event, event.clientX - box.left)) event.preventDefault();
    };
    element?.addEventListener("wheel", listen, { passive: false });
    return () => element?.removeEventListener("wheel", listen);
  }, []);
}

// Returns the address of an operator's row in the operators view. The comparison `near` is preferred if it has that row.
export function operatorAddress(report: Report, experiment: number, key: string, near = 0): string {
  const variant = report.experiments[experiment];
  for (const pair of [near, ...report.comparisons.keys()]) {
    const comparison = report.comparisons[pair];
    const variants = comparison && findVariants(report, comparison);
    for (const [i, side] of (["baseline", "candidate"] as const).entries()) {
      if (variants?.[i] !== variant) continue;
      const row = comparison?.operators.find((candidate) => candidate[`${side}_key`] === key);
      if (row) return href("operators", { pair: pair || undefined, op: `${row.baseline_key ?? ""}|${row.candidate_key ?? ""}` });
    }
  }
  return href("operators", { experiment: experiment || undefined, op: key });
}

function findOperator(report: Report, lane: Lane, op: TimelineOperator): Operator | undefined {
  return report.experiments[lane.experiment]?.operators?.find((candidate) => candidate.key === op.key);
}

function SpanDetails({ lane, span, report }: { lane: Lane; span: number; report: Report }) {
  const op = lane.timeline.operators[lane.spans.op[span] as number];
  if (!op) return null;
  const operator = findOperator(report, lane, op);
  const start = lane.spans.start[span] as number;
  const length = (lane.spans.end[span] as number) - start;
  const facts: [string, string | null | undefined][] = [
    ["name", op.name],
    ["calls", lane.kind === "modules" || lane.names[span] === op.name ? null : lane.names[span]],
    ["call", op.kind === "module" ? null : callNumbers(report.experiments[lane.experiment])(op.key)?.toString()],
    ["time", `${ms(length)}, ${share(length / (runLength(lane) || 1))} of this run`],
    ["self", lane.spans.self[span] === length ? null : ms(lane.spans.self[span] as number)],
    ["begins at", ms(start)],
    ["tasks", lane.kind === "watched" ? sliceText(lane.timeline, span) : null],
    ["mean self time", operator ? time(operator.mean_ms) : null],
    ["category", `${op.category}, ${op.group}`],
    ...programFacts(operator),
  ];
  return (
    <div>
      <h3>{lane.name}</h3>
      <Facts facts={facts} />
      {operator && <a href={operatorAddress(report, lane.experiment, op.key)}>In the table of operators</a>}
    </div>
  );
}

// Shows the span under the pointer. The component has its own state, so that nothing else is redrawn when the pointer
// moves.
function SpanTooltip({ lanes, report, show }: { lanes: Lane[]; report: Report; show: { current: (hover: Hover | null) => void } }) {
  const [hover, setHover] = useState<Hover | null>(null);
  show.current = setHover;
  const lane = hover && lanes[hover.lane];
  const op = lane?.timeline.operators[lane.spans.op[hover?.span ?? -1] ?? -1];
  if (!hover || !lane || !op) return null;
  const operator = findOperator(report, lane, op);
  const length = (lane.spans.end[hover.span] as number) - (lane.spans.start[hover.span] as number);
  const right = hover.x > innerWidth / 2;
  return (
    <div class="tip" style={{ top: Math.min(hover.y + 16, innerHeight - 110), [right ? "right" : "left"]: right ? innerWidth - hover.x : hover.x }}>
      <b>{lane.kind === "modules" ? op.name : lane.names[hover.span]}</b>
      <div>
        {ms(length)} · {op.category}
      </div>
      {lane.kind === "watched" && <div>{sliceText(lane.timeline, hover.span)}</div>}
      {operator?.program?.layer && <div>{operator.program.layer}</div>}
      {operator?.program?.shape && <div>{operator.program.shape}</div>}
    </div>
  );
}

function Legend({ lanes }: { lanes: Lane[] }) {
  const theme = useTheme();
  const operatorsByGroup = new Map<string, TimelineOperator>();
  for (const lane of lanes) {
    for (const op of lane.timeline.operators) if ((op.kind === "kernel" || op.kind === "backend") && !operatorsByGroup.has(op.group)) operatorsByGroup.set(op.group, op);
  }
  return (
    <p class="legend quiet">
      {[...operatorsByGroup.values()].map((op) => (
        <span key={op.group}>
          <i style={{ background: spanColor(op.group, op.kind, theme) }} /> {op.group}
        </span>
      ))}
      <span>
        <i style={{ background: spanColor("", "method", theme) }} /> framework, delegate calls, modules
      </span>
    </p>
  );
}

interface SpanRow {
  span: number;
  name: string;
  start: number; // ms
  length: number;
  self: number;
  depth: number;
  op: TimelineOperator | undefined;
  operator: Operator | undefined;
}

const kColumns: Column<SpanRow>[] = [
  { id: "name", title: "Span", value: (r) => r.name },
  { id: "start", title: "Begins at", value: (r) => r.start, text: (r) => time(r.start), unit: "ms", numeric: true },
  { id: "time", title: "Time", value: (r) => r.length, text: (r) => time(r.length), unit: "ms", numeric: true },
  { id: "self", title: "Self", value: (r) => r.self, text: (r) => time(r.self), unit: "ms", numeric: true },
  { id: "depth", title: "Depth", hint: "0: Method::execute", value: (r) => r.depth, numeric: true },
  { id: "category", title: "Category", value: (r) => r.op?.category ?? null },
  { id: "layer", title: "Layer", value: (r) => r.operator?.program?.layer ?? null },
  { id: "shape", title: "Shape", value: (r) => r.operator?.program?.shape ?? null },
];

function SpanTable(props: { lane: Lane; report: Report; onChoose: (span: number) => void; children: ComponentChildren }) {
  const { lane, report } = props;
  const rows = useMemo<SpanRow[]>(() => {
    const operatorsByKey = new Map(report.experiments[lane.experiment]?.operators?.map((op) => [op.key, op]));
    return lane.spans.op.map((index, span) => {
      const op = lane.timeline.operators[index];
      const start = lane.spans.start[span] as number;
      return {
        span,
        name: op?.name ?? "",
        start: start / 1e6,
        length: ((lane.spans.end[span] as number) - start) / 1e6,
        self: (lane.spans.self[span] as number) / 1e6,
        depth: lane.spans.depth[span] as number,
        op,
        operator: op && operatorsByKey.get(op.key),
      };
    });
  }, [lane, report]);
  return (
    <DataTable rows={rows} columns={kColumns} name={`spans of ${lane.name}`} sort={{ id: "start", descending: false }} onRow={(row) => props.onChoose(row.span)}>
      {props.children}
    </DataTable>
  );
}
