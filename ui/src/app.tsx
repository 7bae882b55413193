/** Who is looking decides what is shown: the sign-in page, or the dashboard with its pages. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Suspense, useEffect } from "react";
import { Navigate, Route, Routes, useLocation } from "react-router";
import { lookAtSession, type Session, whenRefused } from "./api/client.ts";
import { page } from "./lib/page-code.ts";
import { Boundary } from "./parts/boundary.tsx";
import { Page, Skeleton, Trouble } from "./parts/page.tsx";
import { ServerAway } from "./parts/server-away.tsx";
import { Brand, Shell } from "./parts/shell.tsx";
import { NotFound } from "./pages/not-found.tsx";
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
  useSignInWhenRefused();
  return (
    <>
      <ServerAway />
      {session.data ? <Dashboard session={session.data} /> : <Opening error={session.error} retry={session.refetch} />}
    </>
  );
}

/** Stands while it is asked who is looking. */
function Opening({ error, retry }: { error: Error | null; retry: () => void }) {
  return (
    <main className="flex flex-col gap-5 p-5">
      <Brand />
      {error ? <Trouble error={error} retry={retry} /> : <Skeleton height={320} className="rounded-xl" />}
    </main>
  );
}

function Dashboard({ session }: { session: Session }) {
  const { pathname } = useLocation();
  if (session.state === "signed_out") return <SignIn provider={session.provider} />;
  return (
    <Shell session={session}>
      <Boundary key={session.org_id} at={pathname}>
        <Suspense
          fallback={
            <Page title="Loading">
              <Skeleton height={320} />
            </Page>
          }>
          {session.role === "governance" ? <PrivacyDesk session={session} /> : <Pages session={session} />}
        </Suspense>
      </Boundary>
    </Shell>
  );
}

function Pages({ session }: { session: Session }) {
  return (
    <Routes>
      <Route index element={<Navigate to="/overview" replace />} />
      <Route path="overview" element={<Overview session={session} />} />
      <Route path="sessions" element={<Sessions session={session} />} />
      <Route path="shadow" element={<Shadow />} />
      <Route path="experiments" element={<Experiments />} />
      <Route path="experiments/:experimentId" element={<Results />} />
      <Route path="learnings" element={<Learnings />} />
      <Route path="review" element={<Review />} />
      <Route path="jobs" element={<Jobs session={session} />} />
      <Route path="governance" element={<Governance session={session} />} />
      <Route path="settings" element={<Settings session={session} />} />
      <Route path="connect" element={<Connect session={session} />} />
      <Route path="sign-in" element={<Navigate to="/overview" replace />} />
      <Route path="*" element={<NotFound />} />
    </Routes>
  );
}

/** A governance key exports and erases only: there is one page for it. */
function PrivacyDesk({ session }: { session: Session }) {
  return (
    <Routes>
      <Route path="governance" element={<Governance session={session} />} />
      <Route path="*" element={<Navigate to="/governance" replace />} />
    </Routes>
  );
}

/** A call that was refused for want of a session asks how this browser stands; the sign-in page then stands at the same
 *  address. Nothing is kept of an organization that is no longer the session's. */
function useSignInWhenRefused() {
  const client = useQueryClient();
  useEffect(
    () =>
      whenRefused(async () => {
        const before = client.getQueryData<Session>(["session"]);
        const session = await client
          .fetchQuery({ queryKey: ["session"], queryFn: lookAtSession, staleTime: 0 })
          .catch(() => undefined);
        const isOther = session !== undefined && session.org_id !== before?.org_id;
        if (session?.state === "signed_out" || isOther)
          client.removeQueries({ predicate: (query) => query.queryKey[0] !== "session" });
      }),
    [client],
  );
}
