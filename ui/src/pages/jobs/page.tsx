/** What runs in the background, and how far the judge can be trusted. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ok, type Session } from "../../api/client.ts";
import { Button } from "../../parts/controls.tsx";
import { Page, Trouble } from "../../parts/page.tsx";
import { AgreementCard } from "./agreement.tsx";
import { DeadJobsCard } from "./dead.tsx";
import { QueueAgeCard, SpendingCard } from "./history.tsx";
import { JudgeCard } from "./judge.tsx";
import { LearnedJudgeCard } from "./learned-judge.tsx";
import { QueueCard } from "./queue.tsx";
import { RegenerationCard } from "./regeneration.tsx";
import { StartRegeneration } from "./start.tsx";

export default function JobsPage({ session }: { session: Session }) {
  const [starting, setStarting] = useState(false);
  const list = useQuery({
    queryKey: ["regenerations"],
    queryFn: () => ok(api.GET("/api/evaluations/regenerate")),
    refetchInterval: 10_000,
  });
  const running = list.data?.regenerations.find((r) => r.status === "running");
  return (
    <Page
      title="Jobs and judge health"
      lead="Is the judge working, how well does it agree with people, and what is being judged again."
      actions={
        <Button
          look="primary"
          disabled={running !== undefined}
          title={running ? "One at a time: wait for the running one or cancel it" : undefined}
          onClick={() => setStarting(true)}>
          Judge a window again
        </Button>
      }>
      {list.isError && <Trouble error={list.error} retry={() => list.refetch()} />}
      <div className="grid items-start gap-4 xl:grid-cols-2">
        <div className="flex min-w-0 flex-col gap-4">
          <JudgeCard />
          <QueueCard />
          <QueueAgeCard />
          <DeadJobsCard session={session} />
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <SpendingCard />
          <AgreementCard />
          <LearnedJudgeCard />
        </div>
      </div>
      <RegenerationCard regenerations={list.data?.regenerations} />
      <StartRegeneration open={starting} onClose={() => setStarting(false)} />
    </Page>
  );
}
