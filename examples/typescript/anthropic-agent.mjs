// A streamed answer of Anthropic's client.
import Anthropic from "@anthropic-ai/sdk";
import { session, wrap } from "@evenhand/client";

const s = session("ada", "anthropic-1");
const client = wrap(new Anthropic(), s);

const question = [{ role: "user", content: "Where is my parcel?" }];
const stream = client.messages.stream({ model: "claude-sonnet-5", max_tokens: 200, messages: question });
for await (const event of stream)
  if (event.type === "content_block_delta" && event.delta.type === "text_delta") process.stdout.write(event.delta.text);
console.log();
await s.finish();
