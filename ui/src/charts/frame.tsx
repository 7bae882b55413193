/** What every chart has: a name, how much it stands on, itself as a table, and itself as a file. */
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { downloadCsv, type TableData } from "../lib/csv.ts";
import { IconButton } from "../parts/controls.tsx";
import * as Icon from "../parts/icons.tsx";
import { Card } from "../parts/page.tsx";

export function ChartCard({
  title,
  lead,
  data,
  file,
  aside,
  children,
  className,
}: {
  title: string;
  lead?: ReactNode;
  data: TableData;
  file: string;
  aside?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  const [asTable, setAsTable] = useState(false);
  const tools = (
    <>
      {aside}
      <IconButton
        label={asTable ? `${title} as a chart` : `${title} as a table`}
        aria-pressed={asTable}
        onClick={() => setAsTable(!asTable)}>
        {asTable ? <Icon.Chart /> : <Icon.Table />}
      </IconButton>
      <IconButton label={`Download ${title} as CSV`} onClick={() => downloadCsv(file, data)}>
        <Icon.Download />
      </IconButton>
    </>
  );
  return (
    <Card title={title} lead={lead} aside={tools} {...(className ? { className } : {})}>
      {asTable ? <DataTable data={data} caption={title} /> : children}
    </Card>
  );
}

export function DataTable({ data, caption }: { data: TableData; caption: string }) {
  return (
    <div className="scroll-thin max-h-[340px] overflow-auto" tabIndex={0} role="region" aria-label={caption}>
      <table className="num w-full text-[0.9rem]">
        <caption className="sr-only">{caption}</caption>
        <thead className="sticky top-0 bg-panel text-left text-faint">
          <tr>
            {data.columns.map((c) => (
              <th key={c} scope="col" className="py-1 pr-4 font-medium">
                {c}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.rows.map((row, i) => (
            <tr key={`${row[0]}-${i}`} className="border-t border-line">
              {row.map((cell, j) => (
                <td key={data.columns[j]} className="py-1 pr-4">
                  {typeof cell === "number" ? (data.shown?.[data.columns[j] ?? ""] ?? round)(cell) : (cell ?? "–")}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const round = (n: number) => (Number.isInteger(n) ? n.toLocaleString("en") : n.toPrecision(4));

/** The width a chart may take, as it changes. */
export function useWidth(): [React.RefObject<HTMLDivElement | null>, number] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    setWidth(element.clientWidth);
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/** Walking the places of a chart, with the pointer or with the arrows; a click or Enter opens the place one is at. */
export function useWalk(places: number, onOpen?: (place: number) => void) {
  const [over, setShown] = useState<number | null>(null);
  // A click may come before the place under it is drawn.
  const current = useRef<number | null>(null);
  const setOver = (place: number | null) => {
    current.current = place;
    setShown(place);
  };
  const open = () => current.current !== null && onOpen?.(current.current);
  const handlers = {
    tabIndex: 0,
    onPointerLeave: () => setOver(null),
    onBlur: () => setOver(null),
    onClick: open,
    onKeyDown: (event: KeyboardEvent) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step) setOver(Math.min(places - 1, Math.max(0, (current.current ?? places) + step)));
      if (event.key === "Enter") open();
    },
    className: onOpen ? "cursor-pointer" : "",
  };
  return { over, setOver, handlers };
}

/** What stands beside the pointer. */
export function Tip({ x, y, width, children }: { x: number; y: number; width: number; children: ReactNode }) {
  const flip = x > width / 2;
  return (
    <div
      className="num pointer-events-none absolute z-10 w-max rounded-lg border border-line bg-panel px-3 py-2 text-[0.85rem] shadow-lg"
      style={{ top: Math.max(0, y), ...(flip ? { right: width - x + 14 } : { left: x + 14 }) }}>
      {children}
    </div>
  );
}

export function Legend({ items }: { items: [color: string, name: string][] }) {
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1 text-[0.84rem] text-soft">
      {items.map(([color, name]) => (
        <li key={name} className="flex items-center gap-1.5">
          <span aria-hidden="true" className="inline-block size-2.5 rounded-[3px]" style={{ background: color }} />
          {name}
        </li>
      ))}
    </ul>
  );
}

/** Columns of a table whose numbers are all read in one way. */
export const shownAs = (show: (n: number) => string, ...columns: string[]) =>
  Object.fromEntries(columns.map((column) => [column, (n: number) => show(n)]));
