/** What the list is narrowed by. Typing waits a moment before it asks. */
import { useEffect, useState } from "react";
import { useUrlState } from "../../lib/url-state.ts";
import { Segmented, TextField } from "../../parts/controls.tsx";

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
      <Typed name="text" label="Text" placeholder="Some turn contains…" className="min-w-[180px] flex-1" />
      <Typed name="user" label="User" placeholder="Exact user id" className="w-[170px]" />
      <Typed name="source" label="Source" placeholder="web, app, …" className="w-[120px]" />
      <Typed name="version" label="Agent version" placeholder="Any" className="w-[140px]" />
      <Segmented
        label="Verdict"
        value={(params.get("verdict") ?? "") as (typeof VERDICTS)[number][0]}
        options={VERDICTS}
        onChange={(verdict) => change({ verdict })}
      />
    </div>
  );
}

function Typed({
  name,
  label,
  placeholder,
  className,
}: {
  name: string;
  label: string;
  placeholder: string;
  className: string;
}) {
  const [params, change] = useUrlState();
  const inAddress = params.get(name) ?? "";
  const [value, setValue] = useState(inAddress);
  useEffect(() => setValue(inAddress), [inAddress]);
  useEffect(() => {
    if (value === inAddress) return;
    const timer = setTimeout(() => change({ [name]: value.trim() }), 350);
    return () => clearTimeout(timer);
  }, [value, inAddress, name, change]);
  return (
    <TextField
      label={label}
      type="search"
      placeholder={placeholder}
      className={className}
      value={value}
      onChange={(e) => setValue(e.target.value)}
    />
  );
}
