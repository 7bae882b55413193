/** Sessions for people to label, one after the other: agree or disagree with the judge by one key. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api, ok, type Schemas } from "../../api/client.ts";
import { useKeys } from "../../lib/keys.ts";
import { percent, plural, sourceName } from "../../lib/format.ts";
import { Button, TextField } from "../../parts/controls.tsx";
import { Badge, Card, Empty, Page, Skeleton, Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";
import { sessionView } from "../sessions/session-view.ts";
import { LABELLED } from "../sessions/labels.ts";
import { Transcript } from "../sessions/transcript.tsx";
import { ReviewProgress } from "./progress.tsx";

type Item = Schemas["ReviewItem"];
const keyOf = (item: Item) => `${item.user_id}\n${item.session_id}`;

export default function ReviewPage() {
  const client = useQueryClient();
  const say = useSay();
  const [open, setOpen] = useState<string | null>(null);
  const [note, setNote] = useState("");
  const queue = useQuery({
    queryKey: ["review-queue"],
    queryFn: () => ok(api.POST("/api/evaluations/review_queue", { body: { limit: 20 } })),
  });
  const items = queue.data?.items ?? [];
  const place = Math.max(
    0,
    items.findIndex((item) => keyOf(item) === open),
  );
  const item = items[place];
  const walk = (to: number) => {
    const next = items[Math.min(Math.max(to, 0), items.length - 1)];
    if (next) setOpen(keyOf(next));
  };
  const label = useMutation({
    mutationFn: ({ of, isSuccess }: { of: Item; isSuccess: boolean }) =>
      ok(
        api.POST("/api/evaluations/labels", {
          body: {
            labels: [{ user_id: of.user_id, session_id: of.session_id, is_success: isSuccess, ...(note && { note }) }],
          },
        }),
      ),
    onMutate: () => {
      setNote("");
      walk(place + 1 < items.length ? place + 1 : place - 1);
    },
    onSuccess: () => Promise.all(LABELLED.map((name) => client.invalidateQueries({ queryKey: [name] }))),
    onError: (error) => say(error.message, "bad"),
  });
  const went = (isSuccess: boolean) => item && !label.isPending && label.mutate({ of: item, isSuccess });
  useKeys({
    j: () => walk(place + 1),
    k: () => walk(place - 1),
    s: () => went(true),
    f: () => went(false),
    a: () => item && item.verdict !== "undecided" && went(item.verdict === "success"),
    d: () => item && item.verdict !== "undecided" && went(item.verdict === "failure"),
  });
  return (
    <Page
      title="Review"
      lead="Your labels measure the judge and train one of your own. Half of these sessions are drawn at random, half are those that it would learn most from.">
      {queue.isError && <Trouble error={queue.error} retry={() => queue.refetch()} />}
      {queue.isPending ? (
        <Skeleton height={420} />
      ) : (
        queue.data && (
          <div className="grid items-start gap-4 xl:grid-cols-[320px_minmax(0,1fr)]">
            <div className="flex min-w-0 flex-col gap-4 max-xl:order-last">
              <ReviewProgress queue={queue.data} />
              {items.length > 0 && <List items={items} place={place} onOpen={walk} />}
            </div>
            {item ? (
              <Labelling
                key={keyOf(item)}
                item={item}
                busy={label.isPending}
                went={went}
                note={note}
                onNote={setNote}
              />
            ) : (
              <Card>
                <Empty title="Nothing is left to review">
                  Sessions of the last 30 days come here once they were judged, or the judge had to abstain.
                </Empty>
              </Card>
            )}
          </div>
        )
      )}
    </Page>
  );
}

function List({ items, place, onOpen }: { items: Item[]; place: number; onOpen: (place: number) => void }) {
  return (
    <Card title={plural(items.length, "session")} lead="J and K walk the list, A agrees, D disagrees" flush>
      <ul className="border-t border-line" aria-label="Sessions to review">
        {items.map((item, at) => (
          <li key={keyOf(item)}>
            <button
              type="button"
              aria-current={at === place}
              onClick={() => onOpen(at)}
              className={`flex w-full items-baseline justify-between gap-3 border-b border-line px-5 py-2 text-left ${at === place ? "bg-accent-soft" : "hover:bg-raised"}`}>
              <span className="min-w-0 truncate">{item.session_id}</span>
              <Badge
                tone={item.half === "random" ? "accent" : "neutral"}
                title={
                  item.half === "random"
                    ? `Drawn at random, with a chance of ${percent(item.chance)}`
                    : "The judge is least sure of it"
                }>
                {item.half === "random" ? "random" : "unsure"}
              </Badge>
            </button>
          </li>
        ))}
      </ul>
    </Card>
  );
}

const TONES = { success: "good", failure: "bad", undecided: "neutral" } as const;

type LabellingProps = {
  item: Item;
  busy: boolean;
  went: (isSuccess: boolean) => void;
  note: string;
  onNote: (note: string) => void;
};

function Labelling({ item, busy, went, note, onNote }: LabellingProps) {
  const { user_id, session_id } = item;
  const session = useQuery(sessionView(item));
  const judged = item.verdict !== "undecided";
  return (
    <Card
      title={session_id}
      lead={
        <>
          {sourceName(item.source)}, the judge says <Badge tone={TONES[item.verdict]}>{item.verdict}</Badge>
          {item.probability != null && <> ({percent(item.probability, 0)} likely a success)</>}{" "}
          <Link
            className="text-accent underline"
            to={`/sessions?${new URLSearchParams({ open: `${user_id}\n${session_id}` })}`}>
            all about it
          </Link>
        </>
      }
      aside={
        judged ? (
          <>
            <Button look="primary" disabled={busy} title="Key: A" onClick={() => went(item.verdict === "success")}>
              Agree
            </Button>
            <Button disabled={busy} title="Key: D" onClick={() => went(item.verdict === "failure")}>
              Disagree
            </Button>
          </>
        ) : (
          <>
            <Button disabled={busy} title="Key: S" onClick={() => went(true)}>
              It succeeded
            </Button>
            <Button disabled={busy} title="Key: F" onClick={() => went(false)}>
              It failed
            </Button>
          </>
        )
      }>
      {session.isError && <Trouble error={session.error} retry={() => session.refetch()} />}
      {session.isPending && <Skeleton height={320} />}
      {session.data && (
        <div className="flex flex-col gap-4">
          <Transcript turns={session.data.interactions} verdicts={[]} />
          <TextField
            label="Note (optional, goes with your label)"
            value={note}
            maxLength={4000}
            onChange={(e) => onNote(e.target.value)}
          />
        </div>
      )}
    </Card>
  );
}
