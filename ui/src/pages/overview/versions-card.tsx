/** Which version of the agent is better, and is that sure? */
import { Link } from "react-router";
import { ChartCard, shownAs } from "../../charts/frame.tsx";
import { count, ends, onDate, percent, points, signed } from "../../lib/format.ts";
import { direction } from "../../lib/intervals.ts";
import { type Range, rangeParams } from "../../lib/range.ts";
import { Badge } from "../../parts/page.tsx";
import { onTheOneBefore, type Version } from "./versions.ts";

const WORDS = { up: ["better", "good"], down: ["worse", "bad"] } as const;

export function VersionsCard({ versions, range }: { versions: Version[]; range: Range }) {
  if (versions.length < 2) return null;
  const compared = versions.map((version, place) => ({ version, change: onTheOneBefore(versions, place) }));
  const data = {
    columns: ["version", "since", "judged", "success rate", "low 95 %", "high 95 %", "change (points)", "low", "high"],
    rows: compared.map(({ version: { name, since, n, rate }, change }) => [
      name,
      onDate(since),
      n,
      rate?.value,
      rate?.low,
      rate?.high,
      change && 100 * change.value,
      change && 100 * change.low,
      change && 100 * change.high,
    ]),
    shown: {
      ...shownAs(percent, "success rate", "low 95 %", "high 95 %"),
      ...shownAs(points, "change (points)", "low", "high"),
    },
  };
  return (
    <ChartCard title="By agent version" lead={verdict(versions)} data={data} file="versions">
      <ul className="flex flex-col">
        {compared.toReversed().map(({ version, change }) => (
          <li key={version.name}>
            <Link
              to={`/sessions?${new URLSearchParams({ version: version.name, ...rangeParams(range) })}`}
              title="Show its sessions"
              className="num group grid grid-cols-[minmax(0,1fr)_auto] items-baseline gap-x-5 gap-y-0.5 rounded-md px-1.5 py-1.5 hover:bg-raised sm:grid-cols-[minmax(0,2fr)_minmax(0,3fr)_minmax(0,4fr)]">
              <span className="truncate font-medium group-hover:underline">{version.name}</span>
              <span>
                <b className="font-semibold">{percent(version.rate?.value)}</b>{" "}
                <span className="text-soft">
                  {version.rate ? `${percent(version.rate.low)} to ${percent(version.rate.high)}` : "too few users"}, n
                  = {count(version.n)}
                </span>
              </span>
              <span className="text-soft max-sm:col-span-2">
                {change ? (
                  <>
                    <Standing change={change} /> {ends([100 * change.low, 100 * change.high])} points on the one before
                  </>
                ) : (
                  "nothing to compare with"
                )}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </ChartCard>
  );
}

function Standing({ change }: { change: { low: number; high: number } }) {
  const way = direction(change);
  if (!way) return <Badge>not sure</Badge>;
  const [word, tone] = WORDS[way];
  return <Badge tone={tone}>{word}</Badge>;
}

/** The newest version against the one before, in a sentence. */
export function verdict(versions: Version[]): string {
  const place = versions.length - 1;
  const [newest, before] = [versions[place], versions[place - 1]];
  const change = onTheOneBefore(versions, place);
  if (!newest || !before) return "";
  if (!change) return `Too few users to compare ${newest.name} with ${before.name}.`;
  const way = direction(change);
  const [low, high] = [100 * change.low, 100 * change.high];
  if (way === "up")
    return `${newest.name} succeeds more often than ${before.name}: by ${low.toFixed(1)} to ${high.toFixed(1)} points.`;
  if (way === "down")
    return `${newest.name} succeeds less often than ${before.name}: by ${(-high).toFixed(1)} to ${(-low).toFixed(1)} points.`;
  return `No sure difference between ${newest.name} and ${before.name}: ${signed(low)} to ${signed(high)} points.`;
}
