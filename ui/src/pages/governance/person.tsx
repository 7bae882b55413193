/** What is stored about one person, as counts; taking it along; erasing it. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, download, ok } from "../../api/client.ts";
import { count, plural, words } from "../../lib/format.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Button, TextField } from "../../parts/controls.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import * as Icon from "../../parts/icons.tsx";
import { Card, Empty, Skeleton, Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";
import { purgeOperations } from "./earlier.tsx";
import { ErasedBefore } from "./erased.tsx";
import { fileName, requestId } from "./request.ts";

const FORMATS = [
  ["json", "Export as JSON"],
  ["zip", "Export for people (ZIP)"],
] as const;

export function Person({ userId }: { userId: string }) {
  const say = useSay();
  const [erasing, setErasing] = useState(false);
  const footprint = useQuery({
    queryKey: ["footprint", userId],
    queryFn: () => ok(api.POST("/api/governance/preview-user", { body: { user_id: userId } })),
  });
  const data = footprint.data;
  const purges = useQuery(purgeOperations);
  const [number, setNumber] = useState("");
  const take = useMutation({
    mutationFn: (format: "json" | "zip") =>
      download(
        `/api/governance/export-user${format === "zip" ? "?format=zip" : ""}`,
        `${fileName("export", number.trim() || (data?.subject_ref ?? ""))}.${format}`,
        { user_id: userId, request_id: number.trim() || requestId("export") },
      ),
    onSuccess: () => say("Exported; the audit chain has a row about it"),
    onError: (error) => say(error.message, "bad"),
  });
  const erased = purges.data?.purge_operations.find(
    (purge) => purge.subject_ref === data?.subject_ref && purge.status === "complete",
  );
  const targets = Object.entries(data?.counts ?? {})
    .filter(([, n]) => n > 0)
    .sort((a, b) => b[1] - a[1]);
  return (
    <Card
      flush
      title={
        <>
          What is stored about <span className="text-accent">{userId}</span>
        </>
      }
      lead={data ? `${plural(data.total, "row")} · ${data.subject_ref}` : "…"}>
      {footprint.isError && (
        <div className="px-5 pb-4">
          <Trouble error={footprint.error} retry={() => footprint.refetch()} />
        </div>
      )}
      {footprint.isPending && (
        <div className="px-5 pb-4">
          <Skeleton height={160} />
        </div>
      )}
      {data && erased && (
        <div className="px-5 pb-4">
          <ErasedBefore purge={erased} userId={userId} />
        </div>
      )}
      {data &&
        (targets.length === 0 ? (
          <Empty title="Nothing is stored about this person">
            {erased
              ? "They were erased, and nothing came since."
              : "This id is not known here. Ids are taken letter by letter: look for capitals and spaces."}
          </Empty>
        ) : (
          <ul className="num grid grid-cols-[repeat(auto-fill,minmax(220px,1fr))] gap-x-8 px-5 pb-2">
            {targets.map(([target, n]) => (
              <li key={target} className="flex justify-between border-b border-line py-1.5">
                <span className="text-soft">{words(target)}</span>
                <span className="font-medium">{count(n)}</span>
              </li>
            ))}
          </ul>
        ))}
      {data && (
        <div className="flex flex-wrap items-end gap-2 border-t border-line px-5 py-3.5">
          <TextField
            label="Your request number (optional)"
            value={number}
            onChange={(e) => setNumber(e.target.value)}
            maxLength={255}
            placeholder="DSR-2026-14"
            className="w-[220px]"
          />
          {FORMATS.map(([format, name]) => (
            <Button key={format} disabled={take.isPending} onClick={() => take.mutate(format)}>
              <Icon.Download />
              {take.isPending && take.variables === format ? "Exporting…" : name}
            </Button>
          ))}
          <span className="flex-1" />
          <Button look="danger" onClick={() => setErasing(true)}>
            Erase this person
          </Button>
        </div>
      )}
      <Erase
        userId={userId}
        total={data?.total ?? 0}
        number={number.trim()}
        open={erasing}
        onClose={() => setErasing(false)}
      />
    </Card>
  );
}

function Erase({
  userId,
  total,
  number,
  open,
  onClose,
}: {
  userId: string;
  total: number;
  /** The officer's own request number. */
  number: string;
  open: boolean;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const [, change] = useUrlState();
  const [typed, setTyped] = useState("");
  const [request, setRequest] = useState(() => requestId("erase"));
  const erase = useMutation({
    mutationFn: () =>
      ok(api.POST("/api/governance/erase-user", { body: { user_id: userId, request_id: number || request } })),
    onSuccess: async ({ purge_id }) => {
      setRequest(requestId("erase"));
      // The name of an erased person has no place in the address either.
      change({ purge: purge_id, user: null });
      await client.invalidateQueries();
      onClose();
    },
  });
  return (
    <Dialog title="Erase this person" open={open} onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(e) => {
          e.preventDefault();
          erase.mutate();
        }}>
        <p className="text-soft">
          All {plural(total, "row")} are deleted everywhere: conversations, verdicts, learnings, search indexes, queues.
          Playbooks of the organization stay, without the links to this person.{" "}
          <b className="text-ink">It cannot be undone.</b>
        </p>
        <TextField
          label={`Type ${userId} to confirm`}
          value={typed}
          onChange={(e) => setTyped(e.target.value)}
          autoComplete="off"
        />
        {erase.isError && <Trouble error={erase.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Keep everything</Button>
          <Button look="danger" type="submit" disabled={typed !== userId || erase.isPending}>
            {erase.isPending ? "Erasing…" : "Erase for good"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
