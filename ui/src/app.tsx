/** Who is looking decides what is shown: the sign-in page, or the dashboard with its pages. */
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Navigate, Route, Routes } from "react-router";
import { lookAtSession } from "./api/client.ts";
import { Page, Skeleton, Trouble } from "./parts/page.tsx";
import { Shell } from "./parts/shell.tsx";
import { SignIn } from "./pages/sign-in.tsx";

const Overview = lazy(() => import("./pages/overview/page.tsx"));
const Sessions = lazy(() => import("./pages/sessions/page.tsx"));
const Shadow = lazy(() => import("./pages/shadow/page.tsx"));
const Experiments = lazy(() => import("./pages/experiments/page.tsx"));
const Results = lazy(() => import("./pages/experiments/results.tsx"));
const Learnings = lazy(() => import("./pages/learnings/page.tsx"));
const Jobs = lazy(() => import("./pages/jobs/page.tsx"));
const Governance = lazy(() => import("./pages/governance/page.tsx"));
const Settings = lazy(() => import("./pages/settings/page.tsx"));

export function App() {
  const session = useQuery({ queryKey: ["session"], queryFn: lookAtSession, staleTime: 60_000 });
  if (session.isError) {
    return <main className="p-8"><Trouble error={session.error} retry={() => session.refetch()} /></main>;
  }
  if (!session.data) return null;
  if (session.data.state === "signed_out") return <SignIn />;
  return (
    <Shell session={session.data}>
      <Suspense fallback={<Page title="Loading"><Skeleton height={320} /></Page>}>
        <Routes>
          <Route index element={<Navigate to="/overview" replace />} />
          <Route path="overview" element={<Overview />} />
          <Route path="sessions" element={<Sessions />} />
          <Route path="shadow" element={<Shadow />} />
          <Route path="experiments" element={<Experiments />} />
          <Route path="experiments/:experimentId" element={<Results />} />
          <Route path="learnings" element={<Learnings />} />
          <Route path="jobs" element={<Jobs />} />
          <Route path="governance" element={<Governance session={session.data} />} />
          <Route path="settings" element={<Settings session={session.data} />} />
          <Route path="*" element={<Navigate to="/overview" replace />} />
        </Routes>
      </Suspense>
    </Shell>
  );
}
