/** How well the judge agrees with people, and what the success rate is without its errors. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, ok, type Schemas } from "../../api/client.ts";
import { count, fixed, percent, words } from "../../lib/format.ts";
import { Card, Empty, Facts, Skeleton, Trouble } from "../../parts/page.tsx";

type Measured = Schemas["Number"];

export function AgreementCard() {
  const agreement = useQuery({ queryKey: ["agreement"], queryFn: () => ok(api.GET("/api/evaluations/agreement")) });
  const data = agreement.data;
  return (
    <Card title="Agreement with people" lead="verdicts against people's labels and the outcomes customers report">
      {agreement.isError && <Trouble error={agreement.error} retry={() => agreement.refetch()} />}
      {!data ? (
        !agreement.isError && <Skeleton height={190} />
      ) : data.n === 0 ? (
        <Empty title="Nobody has said anything yet">
          <Link className="text-accent underline" to="/review">
            Review sessions
          </Link>{" "}
          or report outcomes with <code>/api/session_outcome</code>. From then on the judge is measured here.
        </Empty>
      ) : (
        <div className="flex flex-col gap-4">
          <div className="flex flex-wrap items-baseline gap-x-6 gap-y-1">
            <span>
              <span className="num text-[2rem] leading-none font-semibold tracking-[-0.03em]">
                {percent(data.agreement)}
              </span>{" "}
              <span className="text-soft">agree</span>
            </span>
            <span className="num text-soft">
              κ {fixed(data.kappa.value, 2)}{" "}
              <span className="text-faint">(experts among themselves about {data.human_ceiling_kappa})</span>
            </span>
          </div>
          <Confusion table={data.confusion} />
          <Facts
            rows={[
              ["Measured on", `${count(data.n)} of ${count(data.judged)} judged sessions`],
              ["Sees successes", rate(data.sensitivity)],
              ["Sees failures", rate(data.specificity)],
              ["Success rate, raw", rate(data.raw_success_rate)],
              ["… errors taken out", rate(data.corrected_success_rate)],
            ]}
          />
          {data.false_passes.length > 0 && (
            <div>
              <h3 className="label mb-1">Passed by the judge, not by people</h3>
              <ul className="flex flex-wrap gap-1.5">
                {data.false_passes.slice(0, 12).map((s) => (
                  <li key={s.result_id}>
                    <Link
                      className="rounded-md border border-line px-2 py-0.5 text-[0.87rem] text-accent hover:bg-raised"
                      to={`/sessions?${new URLSearchParams({ open: `${s.user_id}\n${s.session_id}` })}`}>
                      {s.session_id}
                    </Link>
                  </li>
                ))}
                {data.false_passes.length > 12 && (
                  <li className="text-faint">and {data.false_passes.length - 12} more</li>
                )}
              </ul>
            </div>
          )}
        </div>
      )}
    </Card>
  );
}

function rate(measured: Measured): string {
  if (measured.value == null) return words(measured.null_reason) || "–";
  const [low, high] = measured.ci95 ?? [];
  return low === undefined
    ? percent(measured.value)
    : `${percent(measured.value)} (${percent(low)} to ${percent(high)})`;
}

function Confusion({ table }: { table: Schemas["ConfusionTable"] }) {
  const cell = (n: number, good: boolean) => (
    <td
      className={`num rounded-md px-3 py-1.5 text-center font-semibold ${good ? "bg-good-soft text-good" : "bg-bad-soft text-bad"}`}>
      {count(n)}
    </td>
  );
  return (
    <table className="w-full max-w-[380px] border-separate border-spacing-1 text-[0.9rem]">
      <caption className="sr-only">Judge against people</caption>
      <thead>
        <tr className="text-faint">
          <td />
          <th scope="col" className="font-normal">
            people: success
          </th>
          <th scope="col" className="font-normal">
            people: failure
          </th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row" className="text-left font-normal text-faint">
            judge: success
          </th>
          {cell(table.true_passes, true)}
          {cell(table.false_passes, false)}
        </tr>
        <tr>
          <th scope="row" className="text-left font-normal text-faint">
            judge: failure
          </th>
          {cell(table.false_failures, false)}
          {cell(table.true_failures, true)}
        </tr>
      </tbody>
    </table>
  );
}
