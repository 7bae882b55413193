/** The order of the list. The server has the newest or the oldest first; other orders are made here, of the newest `SORTED`. */
import { useMemo } from "react";
import { useUrlState } from "../../lib/url-state.ts";
import type { Row } from "./page.tsx";

export const SORTED = 1000;

/** Sorts rows without a value below all others. */
const UNKNOWN = -1;

const BY = {
  last_request_at: (row: Row) => row.last_request_at,
  interaction_count: (row: Row) => row.interaction_count,
  number_of_correction_per_session: (row: Row) => row.number_of_correction_per_session ?? UNKNOWN,
  tokens: ({ calls }: Row) =>
    calls.input_tokens == null && calls.output_tokens == null
      ? UNKNOWN
      : (calls.input_tokens ?? 0) + (calls.output_tokens ?? 0),
  cost: ({ calls }: Row) => calls.cost_usd ?? UNKNOWN,
  latency: ({ calls }: Row) => calls.latency_ms ?? UNKNOWN,
};
export type SortColumn = keyof typeof BY;

export type Order = { column: SortColumn; descending: boolean };

const NEWEST = "-last_request_at";

/** The orders by name, as they are in the address: a minus stands for the largest first. */
export const ORDERS: [text: string, name: string][] = [
  [NEWEST, "Newest first"],
  ["last_request_at", "Oldest first"],
  ["-number_of_correction_per_session", "Most corrections"],
  ["-interaction_count", "Most turns"],
  ["-tokens", "Most tokens"],
  ["-cost", "Highest cost"],
  ["-latency", "Slowest"],
];

const NAMES: Record<SortColumn, string> = {
  last_request_at: "last activity",
  interaction_count: "turns",
  number_of_correction_per_session: "corrections",
  tokens: "tokens",
  cost: "cost",
  latency: "latency",
};

export const nameOf = (order: Order) =>
  ORDERS.find(([text]) => text === textOf(order))?.[1] ?? `By ${NAMES[order.column]}, smallest first`;

export const isSortable = (column: string): column is SortColumn => column in BY;

/** True if the server has the sessions in this order, all of them. */
export const isOfServer = ({ column }: Order) => column === "last_request_at";

export const textOf = ({ column, descending }: Order) => `${descending ? "-" : ""}${column}`;

export function useOrder(): [Order, (order: Order) => void] {
  const [params, change] = useUrlState();
  const text = params.get("sort") ?? NEWEST;
  const order = useMemo(() => read(text), [text]);
  return [order, (next) => change({ sort: textOf(next) === NEWEST ? null : textOf(next) })];
}

export function read(text: string): Order {
  const name = text.replace(/^-/, "");
  return isSortable(name) ? { column: name, descending: text.startsWith("-") } : read(NEWEST);
}

/** The order that a click on the head of a column asks for. */
export const turned = ({ column, descending }: Order, clicked: SortColumn): Order => ({
  column: clicked,
  descending: column !== clicked || !descending,
});

export function inOrder(rows: Row[], order: Order): Row[] {
  if (isOfServer(order)) return rows;
  const by = BY[order.column];
  return rows.toSorted((a, b) => (order.descending ? by(b) - by(a) : by(a) - by(b)));
}
