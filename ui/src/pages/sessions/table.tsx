/** The list: only the rows in sight are in the document, however many there are. */
import { createColumnHelper, flexRender, getCoreRowModel, useReactTable } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { ago, at, count, sourceName } from "../../lib/format.ts";
import { keyOf, type Row } from "./page.tsx";
import { Verdict } from "./verdict.tsx";

const column = createColumnHelper<Row>();
const columns = [
  column.accessor("last_request_at", {
    header: "Last activity",
    cell: (c) => <span title={at(c.getValue())}>{ago(c.getValue())}</span>,
  }),
  column.accessor("user_id", { header: "User" }),
  column.accessor("session_id", { header: "Session" }),
  column.display({ id: "verdict", header: "Verdict", cell: (c) => <Verdict row={c.row.original} /> }),
  column.accessor("number_of_correction_per_session", {
    header: "Corrections",
    cell: (c) => <>{c.getValue() ?? "–"}</>,
  }),
  column.accessor("interaction_count", { header: "Turns", cell: (c) => <>{count(c.getValue())}</> }),
  column.accessor("source", { header: "Source", cell: (c) => <>{sourceName(c.getValue())}</> }),
  column.accessor("agent_version", { header: "Agent version" }),
];
/** On narrow screens, and beside an open session, only what tells rows apart. */
const spare: Record<string, string> = {
  session_id: "max-md:hidden",
  number_of_correction_per_session: "max-sm:hidden",
  interaction_count: "max-lg:hidden",
  source: "max-md:hidden",
  agent_version: "max-lg:hidden",
};
const numeric = new Set(["last_request_at", "number_of_correction_per_session", "interaction_count"]);
const HEIGHT = 41;

type Props = { rows: Row[]; open: string | null; onOpen: (row: Row) => void; more: () => void; narrow: boolean };

export function SessionTable({ rows, open, onOpen, more, narrow }: Props) {
  const scroll = useRef<HTMLDivElement>(null);
  const table = useReactTable({ data: rows, columns, getCoreRowModel: getCoreRowModel(), getRowId: keyOf });
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => HEIGHT,
    overscan: 12,
    initialRect: { width: 800, height: 600 },
  });
  const items = virtual.getVirtualItems();
  const [first, last] = [items[0], items.at(-1)];
  const nearEnd = last !== undefined && last.index >= rows.length - 20;
  // biome-ignore lint/correctness/useExhaustiveDependencies: after new rows the end may still be near
  useEffect(() => {
    if (nearEnd) more();
  }, [nearEnd, more, rows.length]);
  const place = rows.findIndex((row) => keyOf(row) === open);
  useEffect(() => {
    if (place >= 0) virtual.scrollToIndex(place, { align: "auto" });
  }, [place, virtual]);
  const hide = (id: string) =>
    narrow && ["session_id", "number_of_correction_per_session", "agent_version"].includes(id)
      ? "hidden"
      : (spare[id] ?? "");
  const all = table.getRowModel().rows;
  return (
    <div
      ref={scroll}
      className="scroll-thin max-h-[calc(100vh-265px)] min-h-[320px] overflow-auto"
      tabIndex={0}
      role="region"
      aria-label="Sessions">
      <table className="w-full text-[0.93rem]" aria-rowcount={rows.length}>
        <thead className="sticky top-0 z-10 bg-panel text-left text-[0.84rem] text-faint shadow-[0_1px_0_var(--line)]">
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((header) => (
                <th
                  key={header.id}
                  scope="col"
                  className={`px-2.5 py-2 font-medium whitespace-nowrap first:pl-5 last:pr-5 ${hide(header.id)}`}>
                  {flexRender(header.column.columnDef.header, header.getContext())}
                </th>
              ))}
            </tr>
          ))}
        </thead>
        <tbody>
          {first && first.start > 0 && (
            <tr aria-hidden="true">
              <td style={{ height: first.start }} colSpan={columns.length} />
            </tr>
          )}
          {items.map((item) => {
            const row = all[item.index];
            if (!row) return null;
            const isOpen = row.id === open;
            return (
              <tr
                key={row.id}
                aria-rowindex={item.index + 1}
                aria-selected={isOpen}
                style={{ height: HEIGHT }}
                onClick={() => onOpen(row.original)}
                className={`cursor-pointer border-t border-line transition-colors ${isOpen ? "bg-accent-soft" : "hover:bg-raised"}`}>
                {row.getVisibleCells().map((cell) => (
                  <td
                    key={cell.id}
                    className={`max-w-[220px] truncate px-2.5 first:pl-5 last:pr-5 ${numeric.has(cell.column.id) ? "num" : ""} ${hide(cell.column.id)}`}>
                    {cell.column.id === "user_id" ? (
                      <button
                        type="button"
                        className="max-w-full truncate font-medium hover:underline"
                        aria-label={`Open session ${row.original.session_id} of ${row.original.user_id}`}
                        onClick={(event) => {
                          event.stopPropagation();
                          onOpen(row.original);
                        }}>
                        {row.original.user_id}
                      </button>
                    ) : (
                      flexRender(cell.column.columnDef.cell, cell.getContext())
                    )}
                  </td>
                ))}
              </tr>
            );
          })}
          {last && (
            <tr aria-hidden="true">
              <td style={{ height: Math.max(0, virtual.getTotalSize() - last.end) }} colSpan={columns.length} />
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}
