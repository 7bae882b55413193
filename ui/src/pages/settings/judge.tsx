/** Who judges sessions, and how a model is set to do it: by whoever runs the server, not here. */
import { useQuery } from "@tanstack/react-query";
import { api, ok } from "../../api/client.ts";
import { judgeNature } from "../../lib/judge.ts";
import { Card } from "../../parts/page.tsx";

export function WhoJudges() {
  const health = useQuery({ queryKey: ["judge-health"], queryFn: () => ok(api.GET("/api/evaluations/judge_health")) });
  if (!health.data) return null;
  return (
    <Card title="Who judges" lead="set where the server is started">
      {health.data.offline ? (
        <div className="flex flex-col gap-2.5">
          <p className="max-w-[80ch] text-soft">
            {judgeNature(health.data)} Label sessions on the Review page, and a judge learns from them. Or start the
            server with the key of a provider: its model judges what comes from then on, and older sessions are judged
            again from the Jobs page.
          </p>
          <pre className="overflow-x-auto rounded-lg border border-line bg-raised p-3 text-[0.84rem]">{`export OPENAI_API_KEY=…   # or ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY
evenhand judge test       # one call: model, latency, cost
evenhand serve`}</pre>
        </div>
      ) : (
        <p>{health.data.judge}</p>
      )}
    </Card>
  );
}
