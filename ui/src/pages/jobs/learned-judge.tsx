/** The judge trained on this organization's own labels and outcomes: how far it is, and its report card. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, ok, type Schemas } from "../../api/client.ts";
import { ago, count, fixed, percent } from "../../lib/format.ts";
import { Badge, Card, Empty, Facts, Note, Skeleton, Trouble } from "../../parts/page.tsx";

export function LearnedJudgeCard() {
  const learned = useQuery({
    queryKey: ["learned-judge"],
    queryFn: () => ok(api.GET("/api/evaluations/learned_judge")),
  });
  const data = learned.data;
  return (
    <Card
      title="Learned judge"
      lead="trained here, on your labels and reported outcomes"
      aside={
        data?.version && (
          <Badge tone={data.is_judging ? "good" : "neutral"}>
            {data.version}
            {data.is_judging ? ", judging" : ", not in use"}
          </Badge>
        )
      }>
      {learned.isError && <Trouble error={learned.error} retry={() => learned.refetch()} />}
      {learned.isPending && <Skeleton height={120} />}
      {data && !data.report_card && <NotYet progress={data.ground_truth} />}
      {data?.report_card && (
        <div className="flex flex-col gap-4">
          <ReportCard report={data.report_card} trainedAt={data.trained_at} />
          {data.comparison && !data.comparison.replaced && (
            <Note>
              A newer model was trained and left: its error was {fixed(data.comparison.candidate_brier, 3)} where this
              one's is {fixed(data.comparison.current_brier, 3)}, on {count(data.comparison.sessions)} sessions new to
              both.
            </Note>
          )}
        </div>
      )}
    </Card>
  );
}

function NotYet({ progress }: { progress: Schemas["GroundTruthProgress"] }) {
  return (
    <Empty
      title={`${count(progress.sessions)} of ${progress.needed} sessions`}
      action={
        <Link className="text-accent underline" to="/review">
          Review sessions
        </Link>
      }>
      From {progress.needed} sessions with a label or an outcome, {progress.needed_of_each} of each kind, a judge of
      your own is trained on this machine. So far {count(progress.successes)} succeeded and {count(progress.failures)}{" "}
      failed.
    </Empty>
  );
}

function ReportCard({ report, trainedAt }: { report: Schemas["Report"]; trainedAt: number | null | undefined }) {
  const [low, high] = report.kappa_ci95 ?? [];
  const interval = low !== undefined && high !== undefined ? ` (${fixed(low, 2)} to ${fixed(high, 2)})` : "";
  return (
    <>
      <Facts
        rows={[
          trainedAt != null && ["Trained", `${ago(trainedAt)} on ${count(report.sessions)} sessions`],
          ["Decides", percent(report.coverage)],
          ["κ of what it decides", report.kappa == null ? "–" : `${fixed(report.kappa, 2)}${interval}`],
          ["κ if it had to decide all", fixed(report.kappa_without_abstaining, 2)],
          ["Right when it says success", percent(report.success_precision)],
          ["Right when it says failure", percent(report.failure_precision)],
          ["AUC", fixed(report.auc, 2)],
          ["Brier score", fixed(report.brier, 3)],
        ]}
      />
      <p className="text-[0.87rem] text-faint">All of it on sessions of users that the model had not seen.</p>
      <table className="w-full text-[0.9rem]">
        <caption className="label mb-1 text-left">Calibration</caption>
        <thead>
          <tr className="text-left text-faint">
            <th scope="col" className="font-normal">
              said
            </th>
            <th scope="col" className="font-normal">
              succeeded
            </th>
            <th scope="col" className="text-right font-normal">
              sessions
            </th>
          </tr>
        </thead>
        <tbody className="num">
          {report.calibration.map((line) => (
            <tr key={line.at_least} className="border-t border-line">
              <td className="py-0.5">{percent(line.mean_probability, 0)}</td>
              <td>{percent(line.success_share, 0)}</td>
              <td className="text-right">{count(line.sessions)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <div className="grid gap-4 sm:grid-cols-2">
        <Telling title="Speaks for success" list={report.for_success} />
        <Telling title="Speaks against it" list={report.against_success} />
      </div>
    </>
  );
}

function Telling({ title, list }: { title: string; list: Schemas["Telling"][] }) {
  return (
    <div>
      <h3 className="label mb-1">{title}</h3>
      <ul className="flex flex-wrap gap-1.5">
        {list.map((one) => (
          <li key={one.name}>
            <Badge>{one.name}</Badge>
          </li>
        ))}
      </ul>
    </div>
  );
}
