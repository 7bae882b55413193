/** Stands on pages that have nothing to show before the first session. The texts are loaded only then. */
import { Suspense } from "react";
import type { Session } from "../../api/client.ts";
import { page } from "../../lib/page-code.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Button } from "../../parts/controls.tsx";
import { Skeleton } from "../../parts/page.tsx";
import type { Arrival } from "./arrival.ts";

const Connect = page(() => import("./connect.tsx"));

/** `onward` names the page, which comes with a click on it. */
export function BeforeFirst({ session, arrival, onward }: { session: Session; arrival: Arrival; onward: string }) {
  const [, change] = useUrlState();
  const goOn = () => {
    change({ way: null });
    arrival.goOn();
  };
  return (
    <Suspense fallback={<Skeleton height={420} className="rounded-xl" />}>
      <Connect
        title="Connect your agent"
        session={session}
        arrival={arrival}
        onward={
          <Button small onClick={goOn}>
            {onward}
          </Button>
        }
      />
    </Suspense>
  );
}
