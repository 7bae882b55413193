// An agent with a tool, on Vercel's AI SDK with its OpenTelemetry integration. Needs package.json.
import { randomUUID } from "node:crypto";
import { createOpenAI } from "@ai-sdk/openai";
import { OpenTelemetry } from "@ai-sdk/otel";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { generateText, registerTelemetry, stepCountIs, tool } from "ai";
import { z } from "zod";

const { EVENHAND_URL: url = "http://127.0.0.1:8700", EVENHAND_TOKEN: token } = process.env;
const headers = token ? { authorization: `Bearer ${token}` } : {};
const tracing = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": "weather-agent", "service.version": "1.0" }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: `${url}/v1/traces`, headers }))],
});
tracing.register();
// Every span says whose it is.
registerTelemetry(
  new OpenTelemetry({
    enrichSpan: ({ runtimeContext }) => ({
      "user.id": runtimeContext?.userId,
      "session.id": runtimeContext?.sessionId,
    }),
  }),
);

const session = `chat-${randomUUID()}`;
const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL });
const weather = tool({
  description: "The weather.",
  inputSchema: z.object({ city: z.string() }),
  execute: () => "sunny",
});
const messages = [];
for (const question of ["Hello", "How is the weather?"]) {
  messages.push({ role: "user", content: question });
  const { responseMessages } = await generateText({
    model: openai.chat("gpt-5"),
    messages,
    tools: { weather },
    stopWhen: stepCountIs(5),
    runtimeContext: { userId: "ada", sessionId: session },
    telemetry: { includeRuntimeContext: { userId: true, sessionId: true } },
  });
  messages.push(...responseMessages);
}

await tracing.shutdown(); // Sends what is still in the batch.
console.log(session);
