import { flushSync } from "preact/compat";
import { useLayoutEffect, useState } from "preact/hooks";

// The page is redrawn for print: charts in the paper's width, whole tables, light colors, and open details. A browser
// sends its event just before it lays out the pages, so everything is redrawn before the listener returns.
let printing = false;
let unfolded: HTMLDetailsElement[] = [];
const listeners = new Set<(now: boolean) => void>();

function setPrinting(now: boolean): void {
  if (now === printing) return;
  printing = now;
  // Components measure the page when they are redrawn, so details are opened and the width is set first.
  if (now) unfolded = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open], .folded-on-paper)")];
  for (const details of unfolded) details.open = now;
  document.documentElement.classList.toggle("printing", now);
  flushSync(() => {
    for (const listener of listeners) listener(now);
  });
}

export function watchPrinting(): void {
  addEventListener("beforeprint", () => setPrinting(true));
  addEventListener("afterprint", () => setPrinting(false));
  matchMedia("print").addEventListener("change", (event) => setPrinting(event.matches));
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
