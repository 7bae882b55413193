/** The order of the list. The server has the newest first; other orders are made here, of the newest `SORTED`. */
import { useMemo } from "react";
import { useUrlState } from "../../lib/url-state.ts";
import type { Row } from "./page.tsx";

export const SORTED = 1000;

const BY = {
  last_request_at: (row: Row) => row.last_request_at,
  interaction_count: (row: Row) => row.interaction_count,
  number_of_correction_per_session: (row: Row) => row.number_of_correction_per_session ?? -1,
};
export type SortColumn = keyof typeof BY;

export type Order = { column: SortColumn; descending: boolean; isDefault: boolean };

export const isSortable = (column: string): column is SortColumn => column in BY;

/** In the address: a column's name, with a minus before it for the largest first. */
export function useOrder(): [Order, (column: SortColumn) => void] {
  const [params, change] = useUrlState();
  const text = params.get("sort") ?? "-last_request_at";
  const name = text.replace(/^-/, "");
  const order = useMemo(
    () => ({
      column: isSortable(name) ? name : ("last_request_at" as const),
      descending: text.startsWith("-"),
      isDefault: text === "-last_request_at",
    }),
    [name, text],
  );
  const choose = (column: SortColumn) => {
    const next = column === order.column && order.descending ? column : `-${column}`;
    change({ sort: next === "-last_request_at" ? null : next });
  };
  return [order, choose];
}

export function inOrder(rows: Row[], { column, descending, isDefault }: Order): Row[] {
  if (isDefault) return rows;
  const by = BY[column];
  return rows.toSorted((a, b) => (descending ? by(b) - by(a) : by(a) - by(b)));
}
