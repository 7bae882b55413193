/** How to send sessions here, and whether one came. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { api, ok, Problem, type Session } from "../../api/client.ts";
import { ago } from "../../lib/format.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Code, useCopy } from "../../parts/code.tsx";
import { Button } from "../../parts/controls.tsx";
import * as Icon from "../../parts/icons.tsx";
import { Card, Note, Trouble } from "../../parts/page.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { useSay } from "../../parts/toast.tsx";
import type { Arrival } from "./arrival.ts";
import { SNIPPETS, TEXTS, WAYS } from "./ways.tsx";

/** Stands where a key belongs until there is one. */
const PLACEHOLDER = "EVENHAND_TOKEN";

type Props = {
  session: Session;
  arrival: Arrival;
  title?: string;
  /** What there is to do once the first session came, beside looking at it. */
  onward: ReactNode;
};

export default function Connect({ session, arrival, title, onward }: Props) {
  const [params, change] = useUrlState();
  const way = WAYS.find(([name]) => name === params.get("way"))?.[0] ?? "curl";
  const make = useMakeKey(arrival.newest ? "agent" : "first agent");
  const needed = session.state !== "local";
  const key = needed ? (make.data?.token ?? PLACEHOLDER) : null;
  return (
    <>
      <Line arrival={arrival} onward={onward} />
      <Card title={title}>
        <div className="flex max-w-[960px] flex-col gap-4">
          {needed ? <KeyOf session={session} make={make} /> : <NoKey />}
          <Tabs
            label="Ways to connect"
            value={way}
            options={WAYS}
            onChange={(next) => change({ way: next === "curl" ? null : next })}>
            <div className="flex flex-col gap-3">
              <p className="text-soft [&_a]:text-accent [&_a]:underline">{TEXTS[way]}</p>
              {SNIPPETS[way]({ url: window.location.origin, key }).map(({ name, text }) => (
                <Code key={name} name={name} text={text} mark={key} />
              ))}
            </div>
          </Tabs>
        </div>
      </Card>
    </>
  );
}

/** Waits for the first session, or names the newest. */
function Line({ arrival, onward }: { arrival: Arrival; onward: ReactNode }) {
  const { newest, waits } = arrival;
  return (
    <Note tone={waits && newest ? "good" : "neutral"}>
      <div className="flex min-h-7 flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <p role={waits ? "status" : undefined} className="flex min-w-0 items-center gap-2.5">
          {newest ? (
            <>
              {waits && <Icon.Check className="text-good" />}
              <span className="min-w-0 [overflow-wrap:anywhere]">
                <b className="font-semibold">{waits ? "First session arrived" : "Newest session"}:</b>{" "}
                {newest.session_id} of {newest.user_id}
                {!waits && `, ${ago(newest.last_request_at)}`}
              </span>
            </>
          ) : (
            <>
              <span aria-hidden="true" className="size-2 shrink-0 animate-pulse rounded-full bg-accent" />
              {arrival.error
                ? trouble(arrival.error)
                : `${waits ? "Waiting for the first session" : "Looking for sessions"}…`}
            </>
          )}
        </p>
        {newest && (
          <span className="flex flex-wrap items-center gap-4">
            <Link
              className="font-medium text-accent underline"
              to={`/sessions?open=${encodeURIComponent(`${newest.user_id}\n${newest.session_id}`)}`}
              onClick={arrival.goOn}>
              Open the session
            </Link>
            {waits && onward}
          </span>
        )}
      </div>
    </Note>
  );
}

const trouble = (error: Error) =>
  error instanceof Problem ? error.message : "The server cannot be reached; asking again…";

function NoKey() {
  return (
    <p className="text-soft">
      No key is needed: this server is in local mode and serves programs on its own machine. The first key that is made
      (
      <Link className="text-accent underline" to="/settings?view=keys">
        Settings, Keys
      </Link>
      ) ends that.
    </p>
  );
}

/** Makes an agent's key. It is in the memory of this page only, and gone when the page is left. */
function useMakeKey(name: string) {
  const client = useQueryClient();
  const say = useSay();
  return useMutation({
    gcTime: 0,
    mutationFn: () => ok(api.POST("/api/keys", { body: { role: "agent", name } })),
    onSuccess: async () => {
      say("Key made and filled in");
      await client.invalidateQueries({ queryKey: ["keys"] });
    },
  });
}

function KeyOf({ session, make }: { session: Session; make: ReturnType<typeof useMakeKey> }) {
  const copy = useCopy();
  if (session.role !== "dashboard") {
    return (
      <p className="text-soft">
        <code>{PLACEHOLDER}</code> stands for an agent's key. Yours only reads: somebody with a dashboard key makes one,
        on this page or under Settings, Keys.
      </p>
    );
  }
  const token = make.data?.token;
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Button
          look={token ? "plain" : "primary"}
          disabled={make.isPending}
          onClick={() => (token ? copy(token) : make.mutate())}>
          {token ? "Copy the key" : "Create a key"}
        </Button>
        <p className="min-w-0 flex-[1_1_240px] text-soft">
          {token ? (
            <>
              The key <b>{make.data?.key.name}</b> is filled in. It is shown once: copy what you need before you leave
              this page. Settings, Keys revokes it.
            </>
          ) : (
            <>
              It may publish, search and read, and takes the place of <code>{PLACEHOLDER}</code> in all of these.
            </>
          )}
        </p>
      </div>
      {make.isError && <Trouble error={make.error} />}
    </>
  );
}
