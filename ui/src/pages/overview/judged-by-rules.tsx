/** Says when it was rules that judged, and what they can tell. */
import { Link } from "react-router";
import type { Overview } from "../../api/types.ts";
import { Note } from "../../parts/page.tsx";

export function JudgedByRules({ judges }: { judges: Overview["judges"] }) {
  const byRules = judges.filter((judge) => judge.is_rules);
  if (byRules.length === 0) return null;
  return (
    <Note tone="warn">
      <b>
        {byRules.length === judges.length
          ? "Judged by rules, not by a model"
          : "Partly judged by rules, not by a model"}
        :
      </b>{" "}
      rules decide on evidence alone: a reported outcome, a complaint that stands, a call that failed. All else is
      undecided. Report outcomes, label 50 sessions, or start the server with a model key (<code>OPENAI_API_KEY</code>{" "}
      or another one):{" "}
      <Link to="/settings" className="underline">
        how to set it
      </Link>
      .
    </Note>
  );
}
