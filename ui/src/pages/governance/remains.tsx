/** What an erasure left behind, and until when. */
import { useQuery } from "@tanstack/react-query";
import { api, ok, type Schemas } from "../../api/client.ts";
import { count, onDate, plural, words } from "../../lib/format.ts";
import { Facts, Skeleton, Trouble } from "../../parts/page.tsx";

export function Remains({ purgeId }: { purgeId: string }) {
  const proof = useQuery({
    queryKey: ["certificate", purgeId],
    queryFn: () =>
      ok(
        api.GET("/api/governance/purge-operations/{purge_id}/certificate", { params: { path: { purge_id: purgeId } } }),
      ),
  });
  if (proof.isError) return <Trouble error={proof.error} retry={() => proof.refetch()} />;
  if (!proof.data) return <Skeleton height={120} />;
  const { certificate } = proof.data;
  const rows = Object.values(certificate.erased).reduce((sum, n) => sum + n, 0);
  return (
    <section aria-label="What remains" className="flex flex-col gap-2">
      <h3 className="label">What remains, and until when</h3>
      <Facts
        rows={[
          ["Rows deleted", `${count(rows)}${rows > 0 ? `: ${targets(certificate.erased)}` : ", nothing was stored"}`],
          ["Database files", filesOf(certificate)],
          ["Backups", `what was made before may hold this person until ${onDate(certificate.backups_expire_at)}`],
          [
            "Shared playbooks",
            certificate.shared_texts_masked > 0
              ? `${plural(certificate.shared_texts_masked, "text")} masked where only this person had said it`
              : "nothing in them was this person's alone",
          ],
          (certificate.judge_models_deleted > 0 || certificate.judge_models_retrained > 0) && [
            "Learned judges",
            `${plural(certificate.judge_models_deleted, "model")} deleted, ${count(certificate.judge_models_retrained)} trained again without this person`,
          ],
          ["For ever", "the audit chain and this proof, with references that cannot be turned back into a name"],
        ]}
      />
    </section>
  );
}

const targets = (erased: Schemas["Certificate"]["erased"]) =>
  Object.entries(erased)
    .filter(([, n]) => n > 0)
    .sort((a, b) => b[1] - a[1])
    .map(([target, n]) => `${words(target)} ${count(n)}`)
    .join(", ");

/** Whether deleted bytes are gone from the files too. */
function filesOf({ level, physical_at, physical_after }: Schemas["Certificate"]): string {
  if (level === "physical") return `nothing${physical_at == null ? "" : `, overwritten on ${onDate(physical_at)}`}`;
  return physical_after == null
    ? "deleted bytes are overwritten when the files are next cleaned; the proof then says so"
    : `deleted bytes may be in the files and the log until ${onDate(physical_after)}`;
}
