/** Tables as CSV files: what a chart shows can be taken along. */
import { saveAs } from "../api/client.ts";

export type Cell = string | number | null | undefined;
/** `shown` says how a column's numbers are read on the page, as its chart prints them; files have the numbers themselves. */
export type TableData = { columns: string[]; rows: Cell[][]; shown?: Record<string, (n: number) => string> };

/** RFC 4180; a text that a spreadsheet would run as a formula is kept a text. */
export function toCsv({ columns, rows }: TableData): string {
  const cell = (value: Cell): string => {
    if (value == null) return "";
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows]
    .map((row) => row.map(cell).join(","))
    .join("\r\n")
    .concat("\r\n");
}

export function downloadCsv(name: string, data: TableData): void {
  saveAs(new Blob([toCsv(data)], { type: "text/csv" }), `${name}.csv`);
}
