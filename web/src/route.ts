import { useEffect, useState } from "preact/hooks";

// The state of the page that its address holds, so that a link shares it: the view and the selection in it, as in
// #operators?pair=1&q=gemm.
interface Route {
  view: string;
  query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#\/?/, "");
  const mark = text.indexOf("?");
  const view = mark < 0 ? text : text.slice(0, mark);
  return { view, query: new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1)) };
}

export function href(view: string, query: Record<string, string | number | undefined> = {}): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(entries.map(([key, value]) => [key, String(value)])).toString();
  return `#${view}${search ? `?${search}` : ""}`;
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const update = () => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", update);
    return () => removeEventListener("hashchange", update);
  }, []);
  return route;
}

// Replaces one value of the address without adding an entry to the history.
export function setQuery(key: string, value: string | undefined): void {
  const { view, query } = parseRoute(location.hash);
  history.replaceState(null, "", href(view, { ...Object.fromEntries(query), [key]: value }));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

// A click saves the scroll position in the history entry that it leaves, and restoreScroll() scrolls there again. The
// browser's own restoration comes before the view is drawn, when the page is still too short.
export function saveScrollOnClick(): void {
  addEventListener("click", () => history.replaceState({ place: scrollY }, ""), { capture: true });
}

export function restoreScroll(): void {
  const place: unknown = history.state?.place;
  if (typeof place === "number") scrollTo(0, place);
}
