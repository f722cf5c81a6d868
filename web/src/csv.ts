// Writes a cell as RFC 4180 defines it: text with a comma, quote, or line break is quoted, and null is an empty cell.
// Names come from files, so text that a spreadsheet would read as a formula gets an apostrophe, as OWASP advises.
export function cell(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function toCsv(titles: string[], rows: (string | number | null)[][]): string {
  return [titles, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}
