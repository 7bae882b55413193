/** What is around every page: navigation, who judges, whose data, light or dark. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, type RefObject, useEffect, useRef } from "react";
import { NavLink, useLocation, useNavigate } from "react-router";
import { api, ok, type Session, signOut, switchTo } from "../api/client.ts";
import { judgeName, judgeNature } from "../lib/judge.ts";
import { type Theme, useTheme } from "../lib/theme.ts";
import { IconButton } from "./controls.tsx";
import * as Icon from "./icons.tsx";
import { useSay } from "./toast.tsx";

const PAGES = [
  ["overview", "Overview", Icon.Overview],
  ["sessions", "Sessions", Icon.Sessions],
  ["shadow", "Shadow", Icon.Shadow],
  ["experiments", "Experiments", Icon.Experiments],
  ["learnings", "Learnings", Icon.Learnings],
  ["review", "Review", Icon.Check],
  ["jobs", "Jobs and judge", Icon.Jobs],
  ["governance", "Governance", Icon.Governance],
  ["settings", "Settings", Icon.Settings],
  ["connect", "Connect", Icon.Connect],
] as const;

/** The pages that a credential opens. */
const pagesFor = ({ role }: Session) => (role === "governance" ? PAGES.filter(([path]) => path === role) : PAGES);

/** The range is carried along from page to page; the rest of the address belongs to one page. */
function useCarried(): string {
  const params = new URLSearchParams(useLocation().search);
  const kept = new URLSearchParams();
  for (const name of ["range", "from", "to"]) {
    const value = params.get(name);
    if (value) kept.set(name, value);
  }
  const text = kept.toString();
  return text ? `?${text}` : "";
}

export function Brand() {
  return (
    <div className="flex items-center gap-2.5">
      <img src="/favicon.svg" alt="" width="26" height="26" />
      <span className="text-[1.08rem] font-semibold tracking-[-0.02em]">Evenhand</span>
    </div>
  );
}

/** Where the list of pages is scrolled, the page one is on stays in sight. */
function useCurrentInSight(): RefObject<HTMLElement | null> {
  const list = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page is another place in the list
  useEffect(() => {
    const current = list.current?.querySelector<HTMLElement>('[aria-current="page"]');
    if (list.current && current)
      list.current.scrollLeft = current.offsetLeft - (list.current.clientWidth - current.offsetWidth) / 2;
  }, [pathname]);
  return list;
}

export function Shell({ session, children }: { session: Session; children: ReactNode }) {
  const carried = useCarried();
  const list = useCurrentInSight();
  return (
    <div className="min-h-screen lg:grid lg:grid-cols-[216px_1fr]">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded-lg focus:bg-panel focus:px-3 focus:py-2">
        Skip to the page
      </a>
      <aside className="z-30 border-line max-lg:sticky max-lg:top-0 max-lg:border-b max-lg:bg-canvas lg:sticky lg:top-0 lg:flex lg:h-screen lg:flex-col lg:border-r">
        <div className="flex items-center justify-between gap-2 px-4 pt-3 lg:px-5 lg:pt-5 lg:pb-4">
          <Brand />
          <div className="flex items-center gap-1 lg:hidden">
            <Who session={session} />
            <ThemeChoice />
          </div>
        </div>
        <nav
          ref={list}
          aria-label="Pages"
          className="scroll-thin flex gap-0.5 overflow-x-auto px-2 py-2 lg:flex-col lg:px-3 lg:py-0">
          {pagesFor(session).map(([path, name, PageIcon]) => (
            <NavLink
              key={path}
              to={`/${path}${carried}`}
              className={({ isActive }) =>
                `flex items-center gap-2.5 rounded-lg px-2.5 py-1.5 whitespace-nowrap transition-colors ${
                  isActive ? "bg-accent-soft font-semibold text-accent" : "text-soft hover:bg-line/60 hover:text-ink"
                }`
              }>
              <PageIcon />
              <span>{name}</span>
            </NavLink>
          ))}
        </nav>
        <div className="mt-auto hidden flex-col gap-3 border-t border-line px-4 py-4 lg:flex">
          {session.role !== "governance" && <JudgeChip />}
          <div className="flex items-center justify-between gap-2">
            <Who session={session} />
            <ThemeChoice />
          </div>
        </div>
      </aside>
      <main id="content" tabIndex={-1} className="min-w-0 outline-none">
        {children}
      </main>
    </div>
  );
}

function Who({ session }: { session: Session }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const say = useSay();
  const becomes = (next: Session) => {
    client.setQueryData(["session"], next);
    client.removeQueries({ predicate: (query) => query.queryKey[0] !== "session" });
  };
  const leave = async () => becomes(await signOut());
  const goOnIn = async (organization: string) => {
    try {
      becomes(await switchTo(organization));
      // What an address names is the former organization's.
      navigate("/");
    } catch (error) {
      say(error instanceof Error ? error.message : String(error), "bad");
    }
  };
  if (session.state === "local") {
    return (
      <span
        className="text-[0.84rem] text-faint"
        title="No credential was made yet: this machine may do everything but governance.">
        local mode
      </span>
    );
  }
  return (
    <div className="flex min-w-0 items-center">
      <div className="flex min-w-0 flex-col text-[0.84rem] text-faint max-lg:max-w-[120px]">
        {session.person && (
          <span className="truncate text-soft" title={session.person.email ?? undefined}>
            {session.person.name}
          </span>
        )}
        {session.organizations.length > 1 ? (
          <select
            aria-label="Organization"
            className="min-w-0 truncate rounded bg-transparent text-[0.84rem] text-faint"
            value={session.org_id ?? ""}
            onChange={(e) => goOnIn(e.target.value)}>
            {session.organizations.map((organization) => (
              <option key={organization}>{organization}</option>
            ))}
          </select>
        ) : (
          <span className="truncate" title="Organization">
            {session.org_id}
          </span>
        )}
      </div>
      <IconButton label="Sign out" onClick={leave}>
        <Icon.Exit />
      </IconButton>
    </div>
  );
}

/** Who judges, and whether it is paused. */
function JudgeChip() {
  const health = useQuery({
    queryKey: ["judge-health"],
    queryFn: () => ok(api.GET("/api/evaluations/judge_health")),
    refetchInterval: 30_000,
  });
  if (!health.data) return null;
  const { state, paused_reason } = health.data;
  return (
    <NavLink
      to="/jobs"
      className="flex items-center gap-2 text-[0.84rem] text-soft hover:text-ink"
      title={paused_reason ?? judgeNature(health.data)}>
      <span aria-hidden="true" className={`size-2 rounded-full ${state === "running" ? "bg-good" : "bg-warn"}`} />
      <span className="truncate">
        Judge: {judgeName(health.data)}
        {state === "paused" && " (paused)"}
      </span>
    </NavLink>
  );
}

function ThemeChoice() {
  const [theme, setTheme] = useTheme();
  const next: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
  const symbol = { system: <Icon.System />, light: <Icon.Sun />, dark: <Icon.Moon /> }[theme];
  return (
    <IconButton label={`Theme: ${theme}. Switch to ${next[theme]}`} onClick={() => setTheme(next[theme])}>
      {symbol}
    </IconButton>
  );
}
