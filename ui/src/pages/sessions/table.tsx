/** The list: only the rows in sight are in the document, however many there are. */
import { createColumnHelper, flexRender, getCoreRowModel, useReactTable } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef } from "react";
import { ago, at, count, dollars, sourceName } from "../../lib/format.ts";
import { isSortable, type Order, type SortColumn, turned, useOrder } from "./order.ts";
import { keyOf, type Row } from "./page.tsx";
import { Verdict } from "./verdict.tsx";

const column = createColumnHelper<Row>();
const columns = [
  column.accessor("last_request_at", {
    header: "Activity",
    cell: (c) => <span title={at(c.getValue())}>{ago(c.getValue())}</span>,
  }),
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
  number_of_correction_per_session: "max-md:hidden",
  interaction_count: "max-lg:hidden",
  source: "max-md:hidden",
  agent_version: "max-lg:hidden",
};
const beside = new Set(["number_of_correction_per_session", "interaction_count", "source", "agent_version"]);
const widths: Record<string, string> = {
  last_request_at: "w-[124px] max-sm:w-[92px]",
  verdict: "w-[190px] max-sm:w-[112px]",
  number_of_correction_per_session: "w-[112px]",
  interaction_count: "w-[78px]",
  source: "w-[86px]",
  agent_version: "w-[126px]",
};
const numeric = new Set(["last_request_at", "number_of_correction_per_session", "interaction_count"]);
const HEIGHT = 58;

type Props = { rows: Row[]; open: string | null; onOpen: (row: Row) => void; more: () => void; narrow: boolean };

export function SessionTable({ rows, open, onOpen, more, narrow }: Props) {
  const [order, sortBy] = useOrder();
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
  const hide = (id: string) => (narrow && beside.has(id) ? "hidden" : (spare[id] ?? ""));
  const all = table.getRowModel().rows;
  return (
    <div
      ref={scroll}
      className="scroll-thin max-h-[calc(100vh-265px)] min-h-[320px] overflow-auto"
      tabIndex={0}
      role="region"
      aria-label="Sessions">
      <table className="w-full table-fixed text-[0.93rem]" aria-rowcount={rows.length}>
        <thead className="sticky top-0 z-10 bg-panel text-left text-[0.84rem] text-faint shadow-[0_1px_0_var(--line)]">
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((header) => (
                <th
                  key={header.id}
                  scope="col"
                  aria-sort={sortOf(header.id, order)}
                  className={`px-2.5 py-2 font-medium whitespace-nowrap first:pl-5 last:pr-5 ${widths[header.id] ?? ""} ${hide(header.id)}`}>
                  <Heading column={header.id} order={order} onSort={(column) => sortBy(turned(order, column))}>
                    {flexRender(header.column.columnDef.header, header.getContext())}
                  </Heading>
                </th>
              ))}
            </tr>
          ))}
        </thead>
        <tbody>
          {first && first.start > 0 && (
            <tr aria-hidden="true">
              <td style={{ height: first.start }} />
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
                    className={`px-2.5 first:pl-5 last:pr-5 ${cell.column.id === "verdict" ? "overflow-hidden" : "truncate"} ${numeric.has(cell.column.id) ? "num" : ""} ${hide(cell.column.id)}`}>
                    {cell.column.id === "session_id" ? (
                      <Beginning row={row.original} onOpen={onOpen} />
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
              <td style={{ height: Math.max(0, virtual.getTotalSize() - last.end) }} />
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

const sortOf = (column: string, order: Order) =>
  column === order.column ? (order.descending ? "descending" : "ascending") : undefined;

function Heading(props: { column: string; order: Order; onSort: (column: SortColumn) => void; children: ReactNode }) {
  const { column, order, onSort, children } = props;
  if (!isSortable(column)) return children;
  const mark = sortOf(column, order);
  return (
    <button type="button" className="hover:text-ink" onClick={() => onSort(column)}>
      {children} <span aria-hidden="true">{mark === "descending" ? "↓" : mark === "ascending" ? "↑" : ""}</span>
    </button>
  );
}

/** How a session began, whose it is, and why it failed. */
function Beginning({ row, onOpen }: { row: Row; onOpen: (row: Row) => void }) {
  const calls = callsOf(row.calls);
  return (
    <span className="block min-w-0">
      <button
        type="button"
        className="block max-w-full truncate text-left font-medium hover:underline"
        aria-label={`Open session ${row.session_id} of ${row.user_id}`}
        onClick={(event) => {
          event.stopPropagation();
          onOpen(row);
        }}>
        {row.first_words || row.session_id}
      </button>
      <span className="block truncate text-[0.84rem] text-soft">
        {row.user_id}, {row.session_id}
        {calls && `, ${calls}`}
        {row.failure_reason && ` · ${row.failure_reason}`}
      </span>
    </span>
  );
}

/** Tokens, cost and time of a session's calls; empty if no turn carries them. */
function callsOf({ input_tokens, output_tokens, cost_usd, latency_ms }: Row["calls"]): string {
  const parts = [
    (input_tokens != null || output_tokens != null) && `${count((input_tokens ?? 0) + (output_tokens ?? 0))} tokens`,
    cost_usd != null && dollars(cost_usd),
    latency_ms != null && `${(latency_ms / 1000).toFixed(1)} s`,
  ];
  return parts.filter(Boolean).join(", ");
}
