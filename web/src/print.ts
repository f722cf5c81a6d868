import { flushSync } from "preact/compat";
import { useLayoutEffect, useState } from "preact/hooks";

// The page is redrawn for print: charts in the paper's width, whole tables, light colors, and open details. A browser
// sends its event just before it lays out the pages, so everything is redrawn before the listener returns.
let printing = false;
let openedDetails: HTMLDetailsElement[] = [];
const listeners = new Set<(isPrinted: boolean) => void>();

function setPrinting(isPrinted: boolean): void {
  if (isPrinted === printing) return;
  printing = isPrinted;
  // Components measure the page when they are redrawn, so details are opened and the width is set first.
  if (isPrinted) openedDetails = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open], .folded-on-paper)")];
  for (const details of openedDetails) details.open = isPrinted;
  document.documentElement.classList.toggle("printing", isPrinted);
  flushSync(() => {
    for (const listener of listeners) listener(isPrinted);
  });
}

export function watchPrinting(): void {
  addEventListener("beforeprint", () => setPrinting(true));
  addEventListener("afterprint", () => setPrinting(false));
  matchMedia("print").addEventListener("change", (event) => setPrinting(event.matches));
}

export const isPrinting = (): boolean => printing;

export function usePrinting(): boolean {
  const [isPrinted, setPrinted] = useState(printing);
  useLayoutEffect(() => {
    listeners.add(setPrinted);
    return () => {
      listeners.delete(setPrinted);
    };
  }, []);
  return isPrinted;
}
