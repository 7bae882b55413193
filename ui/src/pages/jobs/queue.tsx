/** The queue: what waits, what runs, what gave up. */
import { useQuery } from "@tanstack/react-query";
import { api, ok } from "../../api/client.ts";
import { count, duration, words } from "../../lib/format.ts";
import { Badge, Card, Empty, Skeleton, Trouble } from "../../parts/page.tsx";

const STATES = ["due", "running", "waiting", "done", "dead", "cancelled"] as const;

export function QueueCard() {
  const jobs = useQuery({ queryKey: ["jobs"], queryFn: () => ok(api.GET("/api/jobs")), refetchInterval: 5_000 });
  const kinds = [...new Set(jobs.data?.jobs.map((j) => j.kind))].sort();
  const of = (kind: string, state: string) =>
    jobs.data?.jobs.find((j) => j.kind === kind && j.state === state)?.count ?? 0;
  const age = jobs.data?.oldest_due_age_seconds ?? 0;
  return (
    <Card
      title="Queue"
      flush
      lead="background work of this organization"
      aside={
        jobs.data && (
          <Badge tone={age > 300 ? "warn" : "good"}>
            {age > 0 ? `oldest due job waits ${duration(age)}` : "nothing is late"}
          </Badge>
        )
      }>
      {jobs.isError && (
        <div className="px-5 pb-4">
          <Trouble error={jobs.error} retry={() => jobs.refetch()} />
        </div>
      )}
      {jobs.isPending && (
        <div className="px-5 pb-4">
          <Skeleton height={120} />
        </div>
      )}
      {jobs.data && kinds.length === 0 && <Empty title="The queue is empty" />}
      {kinds.length > 0 && (
        <div className="scroll-thin overflow-x-auto" tabIndex={0} role="region" aria-label="Queue">
          <table className="num w-full text-[0.93rem]">
            <thead className="text-left text-[0.84rem] text-faint">
              <tr>
                <th scope="col" className="px-5 py-1.5 font-medium">
                  Kind
                </th>
                {STATES.map((s) => (
                  <th key={s} scope="col" className="px-3 py-1.5 text-right font-medium last:pr-5">
                    {s}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {kinds.map((kind) => (
                <tr key={kind} className="border-t border-line">
                  <th scope="row" className="px-5 py-1.5 text-left font-medium">
                    {words(kind).replaceAll(".", ": ")}
                  </th>
                  {STATES.map((state) => {
                    const n = of(kind, state);
                    return (
                      <td
                        key={state}
                        className={`px-3 py-1.5 text-right last:pr-5 ${n === 0 ? "text-faint" : state === "dead" ? "font-semibold text-bad" : ""}`}>
                        {n === 0 ? "·" : count(n)}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}
