import { useEffect, useState } from "preact/hooks";

// Where the reader is: the view, and what is chosen in it, as in #operators?pair=1&q=gemm. Every state of the
// page that is worth sending to somebody is in its address.
export interface Route {
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

// Replaces one value of the address, without a step in the history.
export function setQuery(key: string, value: string | undefined): void {
  const { view, query } = parseRoute(location.hash);
  if (value === undefined || value === "") query.delete(key);
  else query.set(key, value);
  const search = query.toString();
  history.replaceState(null, "", `#${view}${search ? `?${search}` : ""}`);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

// How far the page is scrolled is kept with the step of the history that a click leaves, and comeBack() scrolls there again:
// a browser does so before the view is drawn, and then there is no such place.
export function keepPlaces(): void {
  addEventListener("click", () => history.replaceState({ place: scrollY }, ""), { capture: true });
}

export function comeBack(): void {
  const place: unknown = history.state?.place;
  if (typeof place === "number") scrollTo(0, place);
}
