/** A list that the organization keeps, with what stands for it while it loads, when it fails, and while it is empty; and the
 *  question before something of it goes for good. */
import type { UseMutationResult, UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Button } from "../../parts/controls.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Card, Empty, Skeleton, Trouble } from "../../parts/page.tsx";

type ListProps<T, Item> = {
  query: UseQueryResult<T>;
  items: (data: T) => Item[];
  title: string;
  lead?: string;
  /** The button that adds one; absent for those who may not. */
  add?: { text: string; onClick: () => void } | undefined;
  empty: { title: string; text: ReactNode };
  line: (item: Item) => ReactNode;
};

export function ListCard<T, Item>({ query, items, title, lead, add, empty, line }: ListProps<T, Item>) {
  const all = query.data === undefined ? [] : items(query.data);
  const aside = add && (
    <Button small look="primary" onClick={add.onClick}>
      {add.text}
    </Button>
  );
  return (
    <Card flush title={title} lead={lead} aside={aside}>
      {query.isError && (
        <div className="px-5 pb-4">
          <Trouble error={query.error} retry={() => query.refetch()} />
        </div>
      )}
      {query.isPending && (
        <div className="px-5 pb-4">
          <Skeleton height={120} />
        </div>
      )}
      {query.data !== undefined && all.length === 0 && <Empty title={empty.title}>{empty.text}</Empty>}
      {all.length > 0 && <ul className="border-t border-line">{all.map(line)}</ul>}
    </Card>
  );
}

type AskProps = {
  title: string;
  text: string;
  open: boolean;
  onClose: () => void;
  /** The verb of the button, and what it says meanwhile. */
  verb: [now: string, meanwhile: string];
  action: Pick<UseMutationResult<unknown, Error, void>, "isError" | "error" | "isPending" | "mutate">;
};

export function AskBefore({ title, text, open, onClose, verb, action }: AskProps) {
  return (
    <Dialog title={title} open={open} onClose={onClose}>
      <p className="text-soft">{text}</p>
      {action.isError && (
        <div className="mt-3">
          <Trouble error={action.error} />
        </div>
      )}
      <div className="mt-5 flex justify-end gap-2">
        <Button onClick={onClose}>Keep it</Button>
        <Button look="danger" disabled={action.isPending} onClick={() => action.mutate()}>
          {action.isPending ? verb[1] : verb[0]}
        </Button>
      </div>
    </Dialog>
  );
}
