import { useEffect, useState } from "preact/hooks";
import { usePrinting } from "./print";

export type Theme = "light" | "dark";

const kKey = "etprof-theme";
const preference = () => matchMedia("(prefers-color-scheme: dark)");

// The reader's choice, else the system's.
function current(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return preference().matches ? "dark" : "light";
}

export function restoreTheme(): void {
  try {
    const stored = localStorage.getItem(kKey);
    if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
  } catch {
    // A page from disk may not store anything: then the system's holds.
  }
}

export function toggleTheme(): void {
  const next = current() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(kKey, next);
  } catch {
    // As above.
  }
  dispatchEvent(new Event("etprof-theme"));
}

export function useTheme(): Theme {
  const [theme, setTheme] = useState(current);
  useEffect(() => {
    const update = () => setTheme(current());
    const system = preference();
    system.addEventListener("change", update);
    addEventListener("etprof-theme", update);
    return () => {
      system.removeEventListener("change", update);
      removeEventListener("etprof-theme", update);
    };
  }, []);
  return usePrinting() ? "light" : theme; // paper is white
}
