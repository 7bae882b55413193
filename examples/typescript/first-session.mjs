// A session, what was learned about the user, and how it ended.
import { flush, session, stats } from "@evenhand/client";

const s = session("ada", "chat-1", { source: "web", agentVersion: "v1" });
s.user("Where is my parcel?");
const found = await s.search("parcel"); // empty when nothing fits, and when Evenhand is away
const prompt = `Answer the customer.\n${found.text()}`;
s.assistant("It arrives on Tuesday.", { tools: [{ tool_name: "look_up_order", tool_data: { order: 7 } }] });
await s.finish();

s.outcome("success", { label: "delivered", value: 19.5 });
console.log((await flush()) ? "delivered" : "kept for later", stats(), prompt.length);
