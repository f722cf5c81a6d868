import { flushSync } from "preact/compat";
import { useLayoutEffect, useState } from "preact/hooks";

// What is printed is drawn for paper: charts in its width, tables whole, in light colors, nothing folded. A browser tells of
// printing just before it lays out the pages, so that all of it is drawn at once, before the listener returns.
let printing = false;
let unfolded: HTMLDetailsElement[] = [];
const listeners = new Set<(now: boolean) => void>();

function set(now: boolean): void {
  if (now === printing) return;
  printing = now;
  // First what is folded and the width of the page, which what is drawn then measures.
  if (now) unfolded = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open], .folded-on-paper)")];
  for (const details of unfolded) details.open = now;
  document.documentElement.classList.toggle("printing", now);
  flushSync(() => {
    for (const listener of listeners) listener(now);
  });
}

export function watchPrinting(): void {
  addEventListener("beforeprint", () => set(true));
  addEventListener("afterprint", () => set(false));
  matchMedia("print").addEventListener("change", (event) => set(event.matches));
}

export const isPrinting = (): boolean => printing;

export function usePrinting(): boolean {
  const [now, setNow] = useState(printing);
  useLayoutEffect(() => {
    listeners.add(setNow);
    return () => {
      listeners.delete(setNow);
    };
  }, []);
  return now;
}
