import { useEffect, useState } from "preact/hooks";
import { usePrinting } from "./print";

export type Theme = "light" | "dark";

const kStorageKey = "etprof-theme";
const darkPreference = () => matchMedia("(prefers-color-scheme: dark)");

// Returns the theme that the reader chose, or the system's theme.
function currentTheme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return darkPreference().matches ? "dark" : "light";
}

export function restoreTheme(): void {
  try {
    const stored = localStorage.getItem(kStorageKey);
    if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
  } catch {
    // The browser may refuse storage to a page from disk, which then has the system's theme.
  }
}

export function toggleTheme(): void {
  const next = currentTheme() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(kStorageKey, next);
  } catch {
    // Without storage, the choice lasts until the page is closed.
  }
  dispatchEvent(new Event("etprof-theme"));
}

export function useTheme(): Theme {
  const [theme, setTheme] = useState(currentTheme);
  useEffect(() => {
    const update = () => setTheme(currentTheme());
    const system = darkPreference();
    system.addEventListener("change", update);
    addEventListener("etprof-theme", update);
    return () => {
      system.removeEventListener("change", update);
      removeEventListener("etprof-theme", update);
    };
  }, []);
  return usePrinting() ? "light" : theme; // paper is white
}
