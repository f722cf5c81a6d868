// RFC 4180: a cell with a comma, quote or line break is quoted. What does not exist is an empty cell. A text
// that a spreadsheet would take for a formula gets an apostrophe, as OWASP advises: names come from files.
export function cell(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function toCsv(titles: string[], rows: (string | number | null)[][]): string {
  return [titles, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}
