/** One session, whole: the same answer for the session's panel, the review queue and shadow comparisons. */
import { api, ok } from "../../api/client.ts";

export const sessionView = ({ user_id, session_id }: { user_id: string; session_id: string }) => ({
  queryKey: ["session-view", user_id, session_id],
  queryFn: () => ok(api.GET("/api/sessions/{user_id}/{session_id}", { params: { path: { user_id, session_id } } })),
});
