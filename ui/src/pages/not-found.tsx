/** An address that no page has. */
import { Link, useLocation } from "react-router";
import { Card, Empty, Page } from "../parts/page.tsx";

export function NotFound() {
  const { pathname } = useLocation();
  return (
    <Page title="There is no such page">
      <Card>
        <Empty
          title={pathname}
          action={
            <Link className="text-accent underline" to="/overview">
              Go to the overview
            </Link>
          }>
          Nothing is at this address. The link may be cut off, or of another version.
        </Empty>
      </Card>
    </Page>
  );
}
