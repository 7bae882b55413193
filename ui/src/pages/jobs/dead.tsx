/** Jobs that gave up, with the reason, to be tried again. */
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, ok, type Schemas, type Session } from "../../api/client.ts";
import { ago, plural, words } from "../../lib/format.ts";
import { Button } from "../../parts/controls.tsx";
import { Card, Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";

export function DeadJobsCard({ session }: { session: Session }) {
  const client = useQueryClient();
  const say = useSay();
  const dead = useInfiniteQuery({
    queryKey: ["jobs", "dead"],
    queryFn: ({ pageParam }) => ok(api.GET("/api/jobs/dead", { params: { query: { cursor: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: 10_000,
  });
  const retry = useMutation({
    mutationFn: (job: Schemas["DeadJob"]) =>
      ok(api.POST("/api/jobs/{job_id}/retry", { params: { path: { job_id: job.job_id } } })),
    onSuccess: () => say("It is tried again now"),
    onSettled: () => client.invalidateQueries({ queryKey: ["jobs"] }),
  });
  const jobs = dead.data?.pages.flatMap((page) => page.jobs) ?? [];
  if (jobs.length === 0 && !dead.isError) return null;
  return (
    <Card
      flush
      title="Gave up"
      lead={`${plural(jobs.length, "job")}${dead.hasNextPage ? " and more" : ""}, the newest first`}>
      {(dead.isError || retry.isError) && (
        <div className="px-5 pb-4">
          <Trouble error={retry.error ?? dead.error} retry={() => dead.refetch()} />
        </div>
      )}
      <ul className="border-t border-line">
        {jobs.map((job) => (
          <li
            key={job.job_id}
            className="flex items-center justify-between gap-3 border-b border-line px-5 py-2.5 last:border-0">
            <span className="min-w-0">
              <span className="font-medium">{words(job.kind).replaceAll(".", ": ")}</span>{" "}
              <span className="text-[0.84rem] text-faint">
                gave up {ago(job.finished_at)} after {plural(job.attempts, "attempt")}
              </span>
              <span className="block break-words text-[0.87rem] text-soft">{job.last_error}</span>
            </span>
            {session.role !== "auditor" && (
              <Button small disabled={retry.isPending} onClick={() => retry.mutate(job)}>
                {retry.isPending && retry.variables === job ? "Retrying…" : "Retry"}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {dead.hasNextPage && (
        <div className="border-t border-line px-5 py-2.5">
          <Button small disabled={dead.isFetchingNextPage} onClick={() => dead.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </Card>
  );
}
