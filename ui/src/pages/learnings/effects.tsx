/** Which playbooks help: success with each minus success of users chosen at random from whom it was withheld. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, ok, type Schemas } from "../../api/client.ts";
import { EffectPlot } from "../../charts/effect-plot.tsx";
import { ChartCard } from "../../charts/frame.tsx";
import { count, fixed, percent, plural, points, signed, words } from "../../lib/format.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Segmented } from "../../parts/controls.tsx";
import * as Icon from "../../parts/icons.tsx";
import { Badge, Card, Empty, Note, Skeleton, Trouble } from "../../parts/page.tsx";
import { EffectDetail } from "./effect-detail.tsx";

export type Effect = Schemas["ListedEffect"];

const STATES = [
  ["", "All"],
  ["hurts", "Hurts"],
  ["helps", "Helps"],
  ["no_sign_yet", "No sign yet"],
] as const;
const TONES = { helps: "good", hurts: "bad", no_sign_yet: "neutral" } as const;

export function Effects() {
  const [params, change] = useUrlState();
  const state = STATES.find(([name]) => name === params.get("state"))?.[0] ?? "";
  const found = useQuery({
    queryKey: ["effects", state],
    queryFn: () =>
      ok(api.GET("/api/learnings/effects", { params: { query: { limit: 1000, ...(state ? { state } : {}) } } })),
  });
  if (found.isError) return <Trouble error={found.error} retry={() => found.refetch()} />;
  if (!found.data) return <Skeleton height={360} className="rounded-xl" />;
  const { effects, trials_enabled: enabled } = found.data;
  const open = params.get("open");
  const filter = (
    <Segmented label="State" value={state} options={STATES} onChange={(s) => change({ state: s, open: null })} />
  );
  if (effects.length === 0)
    return (
      <Card aside={filter}>
        <Empty title={state ? "None of them" : "No playbook was on trial yet"}>
          {state ? (
            "No playbook is in this state."
          ) : (
            <>
              Switch trials on in{" "}
              <Link className="text-accent underline underline-offset-3" to="/settings">
                Settings
              </Link>
              : each approved playbook is then withheld from a few users, chosen at random, and after some weeks this
              page says which ones help and which ones hurt.
            </>
          )}
        </Empty>
      </Card>
    );
  const known = effects.flatMap((e) => [e.always_valid_lower, e.always_valid_upper, e.effect]).filter((v) => v != null);
  const reach = Math.max(5, ...known.map(Math.abs));
  return (
    <>
      {!enabled && <Note>Trials are switched off; these are the effects as they were found until then.</Note>}
      <ChartCard
        title="Which playbooks help"
        file="effects"
        data={table(effects)}
        aside={filter}
        lead="success with the playbook minus success without it, in percentage points, with an interval that holds on whatever day you look; the diamond is drawn towards zero by what all playbooks show together">
        <ul>
          {effects.map((effect) => {
            const id = String(effect.agent_playbook_id);
            return (
              <Row
                key={id}
                effect={effect}
                reach={reach}
                open={open === id}
                onToggle={() => change({ open: open === id ? null : id })}
              />
            );
          })}
        </ul>
      </ChartCard>
    </>
  );
}

function Row(props: { effect: Effect; reach: number; open: boolean; onToggle: () => void }) {
  const { effect, reach, open, onToggle } = props;
  return (
    <li className="border-t border-line first:border-0">
      <button
        type="button"
        aria-expanded={open}
        onClick={onToggle}
        className="grid w-full grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-1 rounded-md px-1.5 py-2 text-left hover:bg-raised md:grid-cols-[minmax(0,5fr)_minmax(140px,4fr)_190px_100px_20px]">
        <span className="min-w-0">
          <span className="block truncate font-medium">{effect.playbook_name || effect.content || "(deleted)"}</span>
          <span className="block truncate text-[0.84rem] text-faint">{about(effect)}</span>
        </span>
        <EffectPlot effect={plotted(effect)} reach={reach} />
        <span className="num text-[0.9rem] max-md:order-3">
          {effect.effect == null ? words(effect.null_reason) : interval(effect)}
          <span className="block text-[0.82rem] text-faint">
            {count(effect.served.users)} users with, {count(effect.withheld.users)} without
          </span>
        </span>
        <span>
          <Badge tone={TONES[effect.state]}>{words(effect.state)}</Badge>
        </span>
        <Icon.Arrow className={`text-faint transition-transform max-md:hidden ${open ? "rotate-90" : ""}`} />
      </button>
      {open && <EffectDetail id={effect.agent_playbook_id} />}
    </li>
  );
}

const plotted = (effect: Effect) => ({
  value: effect.effect ?? null,
  low: effect.always_valid_lower ?? null,
  high: effect.always_valid_upper ?? null,
  shrunken: effect.shrunken?.mean ?? null,
  standing: effect.state === "no_sign_yet" ? null : effect.state,
});

const interval = (effect: Effect) =>
  effect.always_valid_lower == null || effect.always_valid_upper == null
    ? points(effect.effect)
    : `${points(effect.effect)} (${signed(effect.always_valid_lower)} to ${signed(effect.always_valid_upper)})`;

function about(effect: Effect): string {
  const status = effect.playbook_status === "approved" ? null : (effect.playbook_status ?? "deleted");
  const share = `withheld from ${percent(effect.share, 0)} of users`;
  const wait =
    effect.state === "no_sign_yet" && effect.days_until_five_points
      ? `5 points could be seen in ${plural(effect.days_until_five_points, "day")}`
      : null;
  const parts = [effect.agent_version, status ?? share, effect.is_settled && "settled", wait];
  return parts.filter(Boolean).join(", ");
}

function table(effects: Effect[]) {
  return {
    columns: [
      "playbook",
      "name",
      "state",
      "effect (points)",
      "low, any day",
      "high, any day",
      "shrunken",
      "wrong sign (chance)",
      "users with",
      "users without",
      "smallest visible effect",
    ],
    rows: effects.map((e) => [
      e.agent_playbook_id,
      e.playbook_name,
      words(e.state),
      e.effect,
      e.always_valid_lower,
      e.always_valid_upper,
      e.shrunken?.mean,
      e.shrunken && fixed(e.shrunken.false_sign_rate, 3),
      e.served.users,
      e.withheld.users,
      e.smallest_visible_effect,
    ]),
  };
}
