/** What the list is narrowed by. */
import { useUrlState } from "../../lib/url-state.ts";
import { Segmented } from "../../parts/controls.tsx";
import { SearchField } from "../../parts/listing.tsx";

const VERDICTS = [
  ["", "All"],
  ["success", "Succeeded"],
  ["failure", "Failed"],
  ["none", "Not judged"],
] as const;

export function Filters() {
  const [params, change] = useUrlState();
  return (
    <div className="flex flex-wrap items-end gap-3" role="search" aria-label="Filter sessions">
      <SearchField
        hidden={false}
        name="text"
        label="Text"
        placeholder="Some turn contains…"
        className="min-w-[180px] flex-1"
      />
      <SearchField hidden={false} name="user" label="User" placeholder="Exact user id" className="w-[170px]" />
      <SearchField hidden={false} name="source" label="Source" placeholder="web, app, …" className="w-[120px]" />
      <SearchField hidden={false} name="version" label="Agent version" placeholder="Any" className="w-[140px]" />
      <Segmented
        label="Verdict"
        value={(params.get("verdict") ?? "") as (typeof VERDICTS)[number][0]}
        options={VERDICTS}
        onChange={(verdict) => change({ verdict })}
      />
    </div>
  );
}
