/** One session, docked beside the list: what was said, what was judged, and what to do about it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, ok } from "../../api/client.ts";
import { ago, at, duration, plural, sourceName } from "../../lib/format.ts";
import { IconButton } from "../../parts/controls.tsx";
import * as Icon from "../../parts/icons.tsx";
import { Badge, Facts, Skeleton, Trouble } from "../../parts/page.tsx";
import { sessionView } from "./session-view.ts";
import { Judgement } from "./judgement.tsx";
import { Transcript } from "./transcript.tsx";

export function Panel({ userId, sessionId, onClose }: { userId: string; sessionId: string; onClose: () => void }) {
  const session = useQuery(sessionView({ user_id: userId, session_id: sessionId }));
  const learnings = useQuery({
    queryKey: ["learning-verdicts", userId, sessionId],
    queryFn: () =>
      ok(
        api.POST("/api/get_retrieved_learning_evaluation_results", {
          body: { user_id: userId, session_id: sessionId, limit: 1000 },
        }),
      ),
  });
  const data = session.data;
  const arm = data?.requests.find((r) => r.retrieval_experiment_id);
  return (
    <aside
      aria-label={`Session ${sessionId}`}
      data-testid="panel"
      className="scroll-thin sticky top-4 max-h-[calc(100vh-2rem)] overflow-y-auto rounded-xl border border-line bg-panel max-xl:static max-xl:max-h-none">
      <header className="sticky top-0 z-10 flex items-start justify-between gap-3 border-b border-line bg-panel px-5 py-3.5">
        <div className="min-w-0">
          <h2 className="truncate font-semibold">{sessionId}</h2>
          <p className="truncate text-[0.87rem] text-soft">
            <Link
              className="hover:underline"
              to={`/sessions?user=${encodeURIComponent(userId)}`}
              title="All sessions of this user">
              {userId}
            </Link>
          </p>
        </div>
        <IconButton label="Close the session" onClick={onClose} className="-mr-2">
          <Icon.Close />
        </IconButton>
      </header>
      <div className="flex flex-col gap-4 px-5 py-4">
        {session.isError && <Trouble error={session.error} retry={() => session.refetch()} />}
        {!data ? (
          !session.isError && <Skeleton height={380} />
        ) : (
          <>
            <Facts
              rows={[
                ["When", `${at(data.session.first_request_at)} UTC, ${ago(data.session.last_request_at)}`],
                [
                  "Length",
                  `${plural(data.session.interaction_count, "turn")} in ${duration((data.interactions.at(-1)?.created_at ?? 0) - (data.interactions[0]?.created_at ?? 0))}`,
                ],
                ["Source", `${sourceName(data.session.source)}, ${data.session.agent_version}`],
                arm
                  ? [
                      "Experiment",
                      <>
                        <Link
                          className="text-accent underline"
                          to={`/experiments/${encodeURIComponent(arm.retrieval_experiment_id ?? "")}`}>
                          {arm.retrieval_experiment_id}
                        </Link>{" "}
                        <Badge tone={arm.retrieval_experiment_arm === "holdout" ? "rival" : "accent"}>
                          {arm.retrieval_experiment_arm}
                        </Badge>
                      </>,
                    ]
                  : null,
                data.outcomes.length > 0 && [
                  "Customer says",
                  <Badge tone={data.outcomes.at(-1)?.outcome === "success" ? "good" : "bad"}>
                    {data.outcomes.at(-1)?.outcome}
                  </Badge>,
                ],
              ]}
            />
            <Judgement session={data.session} />
            <Transcript turns={data.interactions} verdicts={learnings.data?.results ?? []} />
          </>
        )}
      </div>
    </aside>
  );
}
