/** The configuration as a form; somebody else's change in between is noticed, not overwritten. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, ok, type Schemas } from "../../api/client.ts";
import { count } from "../../lib/format.ts";
import { Button, Checkbox, TextArea, TextField } from "../../parts/controls.tsx";
import { Card, Facts, Skeleton, Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";

type Config = Schemas["ConfigView"];

export function Configuration() {
  const config = useQuery({ queryKey: ["config"], queryFn: () => ok(api.GET("/api/get_config")) });
  if (config.isError) return <Trouble error={config.error} retry={() => config.refetch()} />;
  if (!config.data) return <Skeleton height={420} className="rounded-xl" />;
  return <Form config={config.data} />;
}

/** The parts of a list that is separated by commas. */
const listed = (text: string) =>
  text
    .split(",")
    .map((s) => s.trim())
    .filter(Boolean);

/** What trials cost, by the users of the last weeks. */
function useCostOfTrials(share: number): string {
  const query = { holdout_percentage: 10 };
  const plan = useQuery({
    queryKey: ["plan", query],
    queryFn: () => ok(api.GET("/api/retrieval_experiments/plan", { params: { query } })),
  });
  if (!plan.data?.past_users) return "A given new playbook is not seen by that share of its users.";
  const { past_users: users, days } = plan.data;
  return `About ${count(Math.round(users * share))} of your ${count(users)} users of ${days} days will not see a given new playbook.`;
}

/** The fields that people change here, flat. */
function flat(config: Config) {
  const success = config.agent_success_config;
  return {
    context: config.agent_context_prompt ?? "",
    definition: success?.success_definition_prompt ?? "",
    sampling: String((success?.sampling_rate ?? 1) * 100),
    learningSampling: String((success?.retrieved_learning_sampling_rate ?? 1) * 100),
    sources: success?.request_sources_enabled?.join(", ") ?? "",
    bothOrders: config.shadow_both_orders ?? true,
    concurrency: String(config.eval_concurrency_limit ?? 10),
    perStratum: String(config.eval_sample_n_per_stratum ?? 200),
    trials: config.learning_trials?.enabled ?? false,
    newShare: String((config.learning_trials?.new_share ?? 0.2) * 100),
    settledShare: String((config.learning_trials?.settled_share ?? 0.02) * 100),
    alwaysServe: config.learning_trials?.always_serve?.join(", ") ?? "",
  };
}

function Form({ config }: { config: Config }) {
  const client = useQueryClient();
  const say = useSay();
  const [fields, setFields] = useState(() => flat(config));
  const cost = useCostOfTrials(Number(fields.newShare) / 100);
  useEffect(() => setFields(flat(config)), [config]);
  const set = (change: Partial<typeof fields>) => setFields((old) => ({ ...old, ...change }));
  const changed = JSON.stringify(fields) !== JSON.stringify(flat(config));
  const save = useMutation({
    mutationFn: () => {
      const sources = listed(fields.sources);
      return ok(
        api.POST("/api/update_config", {
          body: {
            version: config.version,
            agent_context_prompt: fields.context,
            agent_success_config: {
              success_definition_prompt: fields.definition,
              sampling_rate: Number(fields.sampling) / 100,
              retrieved_learning_sampling_rate: Number(fields.learningSampling) / 100,
              request_sources_enabled: sources.length > 0 ? sources : null,
            },
            shadow_both_orders: fields.bothOrders,
            eval_concurrency_limit: Number(fields.concurrency),
            eval_sample_n_per_stratum: Number(fields.perStratum),
            learning_trials: {
              enabled: fields.trials,
              new_share: Number(fields.newShare) / 100,
              settled_share: Number(fields.settledShare) / 100,
              always_serve: listed(fields.alwaysServe),
            },
          },
        }),
      );
    },
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["config"] });
      say("Saved; sessions judged from now on use it");
    },
  });
  const number = (
    name: "sampling" | "learningSampling" | "concurrency" | "perStratum" | "newShare" | "settledShare",
  ) => ({
    type: "number",
    required: true,
    value: fields[name],
    onChange: (e: { target: { value: string } }) => set({ [name]: e.target.value }),
  });
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(e) => {
        e.preventDefault();
        save.mutate();
      }}>
      <div className="grid items-start gap-4 xl:grid-cols-2">
        <Card title="What the judge is told">
          <div className="flex flex-col gap-4">
            <TextArea
              label="What the agent is and does"
              rows={4}
              value={fields.context}
              onChange={(context) => set({ context })}
              maxLength={20000}
              hint="For example: a support agent of an online shop; it can look up orders and make returns."
            />
            <TextArea
              label="What counts as success"
              rows={4}
              value={fields.definition}
              onChange={(definition) => set({ definition })}
              maxLength={20000}
              hint="Empty leaves it to the rubric."
            />
          </div>
        </Card>
        <Card title="How much is judged">
          <div className="grid gap-4 sm:grid-cols-2">
            <TextField
              label="Sessions judged (%)"
              min="0"
              max="100"
              step="any"
              {...number("sampling")}
              hint="Drawn by hash: raising it keeps those drawn before."
            />
            <TextField label="… and their learnings (%)" min="0" max="100" step="any" {...number("learningSampling")} />
            <TextField
              label="Only these sources"
              className="sm:col-span-2"
              value={fields.sources}
              placeholder="All sources"
              onChange={(e) => set({ sources: e.target.value })}
              hint="Separated by commas."
            />
            <TextField label="Judged at a time, when judging again" min="1" max="100" {...number("concurrency")} />
            <TextField label="At most per day and source" min="1" max="100000" {...number("perStratum")} />
            <div className="sm:col-span-2">
              <Checkbox
                label="Judge shadow comparisons in both orders"
                hint="Twice the cost; a winner that depends on the order counts as a tie."
                checked={fields.bothOrders}
                onChange={(bothOrders) => set({ bothOrders })}
              />
            </div>
          </div>
        </Card>
      </div>
      <Card title="Which playbooks help" lead="trials of playbooks">
        <div className="grid gap-4 sm:grid-cols-2">
          <div className="sm:col-span-2">
            <Checkbox
              label="Withhold each approved playbook from a few users, to see whether it helps"
              hint={cost}
              checked={fields.trials}
              onChange={(trials) => set({ trials })}
            />
          </div>
          <TextField label="Of a new playbook, withheld from (%)" min="1" max="50" step="any" {...number("newShare")} />
          <TextField label="… once it is known to help (%)" min="1" max="50" step="any" {...number("settledShare")} />
          <TextField
            label="Playbooks that everybody gets"
            className="sm:col-span-2"
            value={fields.alwaysServe}
            placeholder="None"
            onChange={(e) => set({ alwaysServe: e.target.value })}
            hint="Ids or tags, separated by commas: name those of safety and law here."
          />
        </div>
      </Card>
      <Card title="Rubrics and evaluators" lead="changed through the API">
        <Facts
          rows={[
            ["Session success", config.judge?.session_success_prompt_version ?? "the newest this server has"],
            ["Shadow comparison", config.shadow_comparison_judge_prompt_version ?? "–"],
            [
              "Rule evaluators",
              config.evaluators?.length ? config.evaluators.map((e) => e.evaluation_name).join(", ") : "none",
            ],
            [
              "Tools told to the judge",
              config.tool_can_use?.length ? config.tool_can_use.map((t) => t.tool_name).join(", ") : "none",
            ],
            ["Version", String(config.version)],
          ]}
        />
      </Card>
      {save.isError && <Trouble error={save.error} />}
      <div className="flex items-center gap-3">
        <Button look="primary" type="submit" disabled={!changed || save.isPending}>
          {save.isPending ? "Saving…" : "Save"}
        </Button>
        {changed && <Button onClick={() => setFields(flat(config))}>Undo changes</Button>}
      </div>
    </form>
  );
}
