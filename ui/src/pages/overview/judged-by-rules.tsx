/** Says when it was rules that judged: their rate looks like a model's and is much less. */
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
      read the success rate as a hint. Rules hear thanks and complaints; they cannot tell a right answer from a wrong
      one, and pass many failures. Start the server with a model key (<code>OPENAI_API_KEY</code> or another one) to
      have a model judge:{" "}
      <Link to="/settings" className="underline">
        how to set it
      </Link>
      .
    </Note>
  );
}
