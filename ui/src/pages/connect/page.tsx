/** The ways in, to be looked up at any time. */
import { Link } from "react-router";
import type { Session } from "../../api/client.ts";
import { Page } from "../../parts/page.tsx";
import { useArrival } from "./arrival.ts";
import Connect from "./connect.tsx";

export default function ConnectPage({ session }: { session: Session }) {
  const arrival = useArrival(true, true);
  return (
    <Page
      title="Connect your agent"
      lead="Send sessions from your agent, from its traces, or from files of another tool.">
      <Connect
        session={session}
        arrival={arrival}
        onward={
          <Link className="text-accent underline" to="/overview">
            Overview
          </Link>
        }
      />
    </Page>
  );
}
