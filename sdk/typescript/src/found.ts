import type { components } from "./schema.gen.js";

type Schemas = components["schemas"];

/** Learnings for a question. Empty when nothing fits, when a holdout withholds them, or when the search failed. */
export class Found {
  readonly profiles: Schemas["Profile"][];
  readonly userPlaybooks: Schemas["UserPlaybook"][];
  readonly agentPlaybooks: Schemas["AgentPlaybook"][];
  /** The user's arm while an experiment is active. */
  readonly experiment: Schemas["Attribution"] | null;

  constructor(
    answer: Partial<Schemas["SearchResponse"]>,
    /** Why the search failed; null when it did not. */
    readonly error: string | null = null,
  ) {
    this.profiles = answer.profiles ?? [];
    this.userPlaybooks = answer.user_playbooks ?? [];
    this.agentPlaybooks = answer.agent_playbooks ?? [];
    this.experiment = answer.experiment ?? null;
  }

  get empty(): boolean {
    return this.profiles.length + this.userPlaybooks.length + this.agentPlaybooks.length === 0;
  }

  /** The learnings as lines for a prompt; empty without any. */
  text(): string {
    const lines = this.profiles.map((profile) => `- ${profile.content}`);
    for (const { trigger, content } of [...this.userPlaybooks, ...this.agentPlaybooks])
      lines.push(trigger ? `- When ${trigger}: ${content}` : `- ${content}`);
    return lines.join("\n");
  }

  /** The references a turn carries to say that it was made with these learnings. */
  references(): Schemas["RetrievedLearning"][] {
    return [
      ...this.profiles.map((one) => ({ kind: "profile" as const, learning_id: one.profile_id })),
      ...this.userPlaybooks.map((one) => ({
        kind: "user_playbook" as const,
        learning_id: String(one.user_playbook_id),
      })),
      ...this.agentPlaybooks.map((one) => ({
        kind: "agent_playbook" as const,
        learning_id: String(one.agent_playbook_id),
      })),
    ];
  }
}
