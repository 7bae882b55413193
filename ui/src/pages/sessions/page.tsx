/** Every session, filtered by what is in the address; one of them open beside the list. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";
import { api, ok, type Schemas, type Session } from "../../api/client.ts";
import { useKeys } from "../../lib/keys.ts";
import { QUIET_POLL_MS } from "../../lib/poll.ts";
import { type Range, rangeOf } from "../../lib/range.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Button } from "../../parts/controls.tsx";
import { Card, Empty, Note, Page, Skeleton, Trouble } from "../../parts/page.tsx";
import { RangeChoice } from "../../parts/range.tsx";
import { at, count, plural, words } from "../../lib/format.ts";
import { useArrival } from "../connect/arrival.ts";
import { BeforeFirst } from "../connect/before-first.tsx";
import { ExportSessions } from "./export.tsx";
import { Filters } from "./filters.tsx";
import { inOrder, isOfServer, nameOf, type Order, ORDERS, SORTED, textOf, useOrder } from "./order.ts";
import { Panel } from "./panel.tsx";
import { SavedViews } from "./saved-views.tsx";
import { SessionTable } from "./table.tsx";

const VERDICTS = ["success", "failure", "none"] as const;
const ARMS = ["treatment", "holdout"] as const;
/** The parameters of the address that narrow the list. */
const FILTERS = ["user", "source", "version", "text", "verdict", "rule", "experiment", "arm", "corrections"];
const NO_FILTERS = Object.fromEntries(FILTERS.map((name) => [name, null]));
export type Row = Schemas["ListedSession"];
export const keyOf = (row: { user_id: string; session_id: string }) => `${row.user_id}\n${row.session_id}`;

const PAGE = 200;
const LEAD = "What happened, how it was judged, and why not.";

export default function SessionsPage({ session: viewer }: { session: Session }) {
  const [params, change] = useUrlState();
  const range = rangeOf(params, undefined, "90d");
  const rule = useRule(params.get("rule"), range, params.get("version"));
  const [order] = useOrder();
  const experiment = params.get("experiment") ?? undefined;
  const query = {
    experiment_id: experiment,
    arm: experiment ? ARMS.find((word) => word === params.get("arm")) : undefined,
    ...correctionsOf(params.get("corrections")),
    order: isOldestFirst(order) ? ("oldest" as const) : undefined,
    user_id: params.get("user") ?? undefined,
    source: params.get("source") ?? undefined,
    agent_version: params.get("version") ?? undefined,
    text: params.get("text") ?? undefined,
    verdict: VERDICTS.find((word) => word === params.get("verdict")),
    session_ids: rule.data ? rule.data.cited_session_ids.slice(-100).join(",") || "none" : undefined,
    start_time: String(range.from),
    end_time: String(range.to + 60),
  };
  const { start_time: _from, end_time: _to, ...filters } = query;
  const list = useInfiniteQuery({
    queryKey: ["sessions", range.key, filters],
    enabled: !params.get("rule") || rule.isSuccess,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      ok(
        api.GET("/api/sessions", {
          params: { query: { ...query, limit: PAGE, cursor: pageParam, count: !pageParam } },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    // All pages are asked for again, so a list that was scrolled far rests, and one that had to be looked for.
    refetchInterval: ({ state }) => {
      const pages = state.data?.pages ?? [];
      return pages.length <= 2 && pages.every((page) => page.searched_to === null) && QUIET_POLL_MS;
    },
  });
  const searchedTo = list.data?.pages.at(-1)?.searched_to ?? null;
  const loaded = useMemo(() => list.data?.pages.flatMap((page) => page.sessions) ?? [], [list.data]);
  const rows = useMemo(() => inOrder(loaded, order), [loaded, order]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage && searchedTo === null) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, searchedTo, fetchNextPage]);
  useEffect(() => {
    if (!isOfServer(order) && loaded.length < SORTED) more();
  }, [order, loaded.length, more]);
  const arrival = useArrival(list.isSuccess && rows.length === 0);
  const open = params.get("open");
  const place = rows.findIndex((row) => keyOf(row) === open);
  const show = useCallback(
    (row: Row | undefined) => change({ open: row ? keyOf(row) : null, turn: null }, true),
    [change],
  );

  useKeys({
    Escape: () => open && show(undefined),
    j: () => show(rows[Math.min(place + 1, rows.length - 1)]),
    k: () => show(rows[Math.max(place - 1, 0)]),
  });

  if (arrival.waits) {
    return (
      <Page title="Sessions" lead={LEAD}>
        <BeforeFirst session={viewer} arrival={arrival} onward="Show the sessions" />
      </Page>
    );
  }

  const [user, session] = open?.split("\n") ?? [];
  return (
    <Page title="Sessions" lead={LEAD} actions={<Actions range={range} />}>
      <Filters range={range} />
      {params.get("rule") && (
        <Note>
          <span className="flex flex-wrap items-center justify-between gap-2">
            <span>
              Sessions that cited <b>{rule.data?.title || words(params.get("rule")?.replace(":", " "))}</b>
              {rule.data && rule.data.cited_session_ids.length > 100 && (
                <> (the newest 100 of {rule.data.cited_session_ids.length})</>
              )}
            </span>
            <Button small onClick={() => change({ rule: null })}>
              Show all sessions
            </Button>
          </span>
        </Note>
      )}
      {list.isError && <Trouble error={list.error} retry={() => list.refetch()} />}
      <div className={`grid items-start gap-4 ${open ? "xl:grid-cols-[minmax(0,1fr)_minmax(480px,560px)]" : ""}`}>
        <Card flush className={open ? "max-xl:hidden" : ""}>
          {list.isPending || arrival.isLoading ? (
            <div className="px-5 pb-5">
              <Skeleton height={420} />
            </div>
          ) : !list.data ? null : rows.length === 0 && searchedTo === null ? (
            <Empty
              title="No session matches"
              action={<Button onClick={() => change(NO_FILTERS)}>Clear the filters</Button>}>
              Nothing in this range has all of these properties.
            </Empty>
          ) : (
            <>
              {searchedTo !== null && (
                <div className="px-5 pb-2">
                  <Note>
                    <span className="flex flex-wrap items-center justify-between gap-2">
                      <span>
                        {rows.length === 0 ? "Nothing" : `Found ${plural(rows.length, "session")}`} among those{" "}
                        {isOldestFirst(order) ? "until" : "since"} {at(searchedTo)} UTC.
                      </span>
                      <Button small disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                        {isFetchingNextPage ? "Searching…" : "Search further"}
                      </Button>
                    </span>
                  </Note>
                </div>
              )}
              {rows.length > 0 && searchedTo === null && (
                <p className="px-5 pb-2 text-[0.87rem] text-faint" aria-live="polite">
                  {told(rows.length, list.data.pages[0]?.total ?? null, hasNextPage, order)}
                  <span className="hidden sm:inline">
                    . <kbd className="font-sans">J</kbd> and <kbd className="font-sans">K</kbd> walk the rows,{" "}
                    <kbd className="font-sans">Esc</kbd> closes.
                  </span>
                </p>
              )}
              <SessionTable rows={rows} open={open} onOpen={show} narrow={open !== null} more={more} />
            </>
          )}
        </Card>
        {user && session && <Panel key={open} userId={user} sessionId={session} onClose={() => show(undefined)} />}
      </div>
    </Page>
  );
}

function Actions({ range }: { range: Range }) {
  return (
    <>
      <SavedViews />
      <ExportSessions range={range} />
      <RangeChoice range={range} />
    </>
  );
}

/** "3" is three, "5+" is five or more. */
function correctionsOf(text: string | null): { min_corrections?: number; max_corrections?: number } {
  const n = Number.parseInt(text ?? "", 10);
  if (Number.isNaN(n)) return {};
  return text?.endsWith("+") ? { min_corrections: n } : { min_corrections: n, max_corrections: n };
}

const isOldestFirst = (order: Order) => isOfServer(order) && !order.descending;

/** The server counts no further. */
const MOST_COUNTED = 10_000;

/** How many rows there are, and in which order. */
function told(n: number, total: number | null, hasMore: boolean, order: Order): string {
  const sorted = textOf(order) === ORDERS[0]?.[0] ? "" : `, ${nameOf(order).toLowerCase()}`;
  const first = isOldestFirst(order) ? "oldest" : "newest";
  const all = total === null ? "more" : total < MOST_COUNTED ? count(total) : `${count(MOST_COUNTED)} or more`;
  return hasMore
    ? `The ${first} ${count(n)} of ${all}${sorted}; scroll for the rest`
    : `${plural(n, "session")} in all${sorted}`;
}

/** A rule of the overview, with the sessions that cited it. */
function useRule(rule: string | null, { from, to, key }: Range, version: string | null) {
  return useQuery({
    queryKey: ["rule", rule, key, version],
    enabled: rule !== null,
    queryFn: async () => {
      const overview = await ok(
        api.POST("/api/get_evaluation_overview", {
          body: { from_ts: from, to_ts: to, include_shadow: false, agent_version: version },
        }),
      );
      const found = overview.rule_attribution.find((row) => `${row.kind}:${row.rule_id}` === rule);
      return found ?? { title: "", cited_session_ids: [] as string[] };
    },
  });
}
