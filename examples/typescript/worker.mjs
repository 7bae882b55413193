// A worker: recording happens during the request, delivery after the answer.
import { Client } from "@evenhand/client";

export default {
  async fetch(request, env, context) {
    const client = new Client({ url: env.EVENHAND_URL, apiKey: env.EVENHAND_API_KEY });
    const s = client.session(request.headers.get("x-user") ?? "somebody");
    s.user(await request.text());
    s.assistant("It arrives on Tuesday.");
    context.waitUntil(s.finish());
    return new Response("It arrives on Tuesday.");
  },
};
