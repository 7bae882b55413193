/** Who is looking decides what is shown: the sign-in page, or the dashboard with its pages. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Suspense, useEffect } from "react";
import { Navigate, Route, Routes, useLocation } from "react-router";
import { lookAtSession, whenRefused } from "./api/client.ts";
import { page } from "./lib/page-code.ts";
import { Boundary } from "./parts/boundary.tsx";
import { Page, Skeleton, Trouble } from "./parts/page.tsx";
import { Shell } from "./parts/shell.tsx";
import { SignIn } from "./pages/sign-in.tsx";

const Overview = page(() => import("./pages/overview/page.tsx"));
const Sessions = page(() => import("./pages/sessions/page.tsx"));
const Shadow = page(() => import("./pages/shadow/page.tsx"));
const Experiments = page(() => import("./pages/experiments/page.tsx"));
const Results = page(() => import("./pages/experiments/results.tsx"));
const Learnings = page(() => import("./pages/learnings/page.tsx"));
const Review = page(() => import("./pages/review/page.tsx"));
const Jobs = page(() => import("./pages/jobs/page.tsx"));
const Governance = page(() => import("./pages/governance/page.tsx"));
const Settings = page(() => import("./pages/settings/page.tsx"));
const Connect = page(() => import("./pages/connect/page.tsx"));

export function App() {
  const session = useQuery({ queryKey: ["session"], queryFn: lookAtSession, staleTime: 60_000 });
  const { pathname } = useLocation();
  useSignInWhenRefused();
  if (session.isError && !session.data) {
    return (
      <main className="p-8">
        <Trouble error={session.error} retry={() => session.refetch()} />
      </main>
    );
  }
  if (!session.data) return null;
  if (session.data.state === "signed_out") return <SignIn />;
  return (
    <Shell session={session.data}>
      <Boundary at={pathname}>
        <Suspense
          fallback={
            <Page title="Loading">
              <Skeleton height={320} />
            </Page>
          }>
          <Routes>
            <Route index element={<Navigate to="/overview" replace />} />
            <Route path="overview" element={<Overview session={session.data} />} />
            <Route path="sessions" element={<Sessions session={session.data} />} />
            <Route path="shadow" element={<Shadow />} />
            <Route path="experiments" element={<Experiments />} />
            <Route path="experiments/:experimentId" element={<Results />} />
            <Route path="learnings" element={<Learnings />} />
            <Route path="review" element={<Review />} />
            <Route path="jobs" element={<Jobs />} />
            <Route path="governance" element={<Governance session={session.data} />} />
            <Route path="settings" element={<Settings session={session.data} />} />
            <Route path="connect" element={<Connect session={session.data} />} />
            <Route path="*" element={<Navigate to="/overview" replace />} />
          </Routes>
        </Suspense>
      </Boundary>
    </Shell>
  );
}

/** A call that was refused for want of a session asks how this browser stands; the sign-in page then stands at the same address. */
function useSignInWhenRefused() {
  const client = useQueryClient();
  useEffect(
    () =>
      whenRefused(async () => {
        const session = await client
          .fetchQuery({ queryKey: ["session"], queryFn: lookAtSession, staleTime: 0 })
          .catch(() => undefined);
        if (session?.state === "signed_out")
          client.removeQueries({ predicate: (query) => query.queryKey[0] !== "session" });
      }),
    [client],
  );
}
