// An agent with a tool, on OpenAI's client. Every turn and tool is recorded.
import { session, wrap } from "@evenhand/client";
import OpenAI from "openai";

const s = session("ada", "openai-1");
const client = wrap(new OpenAI(), s);
const weather = { type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } };

const messages = [{ role: "user", content: "How is the weather?" }];
for (;;) {
  const { choices } = await client.chat.completions.create({ model: "gpt-5", messages, tools: [weather] });
  const answer = choices[0].message;
  messages.push(answer);
  if (!answer.tool_calls?.length) {
    console.log(answer.content);
    break;
  }
  for (const call of answer.tool_calls) messages.push({ role: "tool", tool_call_id: call.id, content: "sunny" });
}
await s.finish();
