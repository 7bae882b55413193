/** One playbook's trial: both sides, how the effect became known, the texts before, and whether the draw was fair. */
import { useQuery } from "@tanstack/react-query";
import { api, ok, type Schemas } from "../../api/client.ts";
import { DataTable } from "../../charts/frame.tsx";
import { Intervals } from "../../charts/intervals.tsx";
import { count, fixed, onDate, onDay, percent, plural, points, signed, words } from "../../lib/format.ts";
import { Facts, Note, Skeleton, Trouble } from "../../parts/page.tsx";

type Detail = Schemas["LearningEffectDetail"];

/** Points of the course that are drawn, the newest last. */
const DRAWN = 8;

export function EffectDetail({ id }: { id: number }) {
  const found = useQuery({
    queryKey: ["effects", "of", id],
    queryFn: () =>
      ok(api.GET("/api/learnings/effects/{agent_playbook_id}", { params: { path: { agent_playbook_id: id } } })),
  });
  if (found.isError) return <Trouble error={found.error} retry={() => found.refetch()} />;
  if (!found.data) return <Skeleton height={240} />;
  const detail = found.data;
  const course = detail.series.filter((point) => point.effect != null);
  const step = Math.max(1, Math.ceil(course.length / DRAWN));
  const drawn = course.filter((_, i) => (course.length - 1 - i) % step === 0);
  return (
    <div className="flex flex-col gap-4 px-1.5 pt-1 pb-5">
      <p className="whitespace-pre-wrap">{detail.content}</p>
      {detail.sample_ratio_ok === false && (
        <Note tone="bad">
          The two sides do not have their shares of users: something takes users away from one of them. Do not trust
          this effect before you know why.
        </Note>
      )}
      <Facts
        rows={[
          ["Success with it", rate(detail.served)],
          ["Success without it", rate(detail.withheld)],
          detail.shrunken && [
            "How much, all in all",
            `${points(detail.shrunken.mean)} (90 %: ${signed(detail.shrunken.ci_lower)} to ${signed(detail.shrunken.ci_upper)}); the sign is wrong with a chance of ${chance(detail.shrunken.false_sign_rate)}`,
          ],
          [
            "Could be seen by now",
            detail.smallest_visible_effect == null
              ? "cannot be told yet"
              : `an effect of ${fixed(detail.smallest_visible_effect)} points or more`,
          ],
          [
            "Withheld from",
            `${percent(detail.share, 0)} of users${detail.is_settled ? ", since it was found to help" : ""}`,
          ],
        ]}
      />
      {drawn.length > 1 && (
        <Intervals
          label={`How the effect of ${detail.playbook_name} became known`}
          rows={drawn.map((point, i) => ({
            name: `by ${onDay(point.until)}`,
            value: point.effect ?? null,
            low: point.always_valid_lower ?? null,
            high: point.always_valid_upper ?? null,
            strong: i === drawn.length - 1,
          }))}
        />
      )}
      <DataTable caption="Texts and epochs of the trial" data={epochs(detail)} />
    </div>
  );
}

const chance = (share: number) => (share < 0.001 ? "less than 0.1 %" : percent(share));

const rate = (side: Detail["served"]) =>
  `${side.success_rate == null ? "–" : percent(side.success_rate / 100)} of ${plural(side.sessions, "session")} of ${plural(side.users, "user")} (found for ${count(side.found_users)})`;

function epochs(detail: Detail) {
  return {
    columns: ["since", "text", "withheld from", "users with", "users without", "effect of the text", "draw"],
    rows: detail.revisions.flatMap((revision) =>
      revision.epochs.map((epoch) => [
        onDate(epoch.started_at),
        revision.is_present ? "present" : `older (${revision.digest.slice(0, 6)})`,
        percent(epoch.share, 0),
        epoch.served.users,
        epoch.withheld.users,
        revision.effect == null ? words(revision.null_reason) : points(revision.effect),
        epoch.sample_ratio_ok == null ? "–" : epoch.sample_ratio_ok ? "fair" : "not in its shares",
      ]),
    ),
  };
}
