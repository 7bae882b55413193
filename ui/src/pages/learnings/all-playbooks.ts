import { api, ok } from "../../api/client.ts";

/** The organization's playbooks, those that were retired among them. */
export const agentPlaybooks = {
  queryKey: ["agent-playbooks"],
  staleTime: 60_000,
  queryFn: () => ok(api.POST("/api/get_agent_playbooks", { body: { top_k: 1000, status_filter: [null, "archived"] } })),
};
