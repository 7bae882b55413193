/** The ways in: what each is for, and texts that work as they are, with this server's address and a key filled in. */
import type { ReactNode } from "react";

export const WAYS = [
  ["curl", "curl"],
  ["python", "Python"],
  ["typescript", "TypeScript"],
  ["opentelemetry", "OpenTelemetry"],
  ["mcp", "MCP"],
  ["import", "Import"],
] as const;

export type Way = (typeof WAYS)[number][0];

/** `key` is null where none is needed. */
export type Server = { url: string; key: string | null };

type Snippet = { name: string; text: string };

/** Lines of one text; a line that is not for this server is left out. */
const lines = (...all: (string | false)[]) => all.filter((line) => line !== false).join("\n");

/** Settings of the client libraries. */
const settings = ({ url, key }: Server) => [
  `export EVENHAND_URL=${url}`,
  key !== null && `export EVENHAND_API_KEY=${key}`,
];

/** Options of commands that talk to a server. */
const options = ({ url, key }: Server) => ["--url", url, ...(key === null ? [] : ["--token", key])];

export const SNIPPETS: Record<Way, (server: Server) => Snippet[]> = {
  curl: ({ url, key }) => [
    {
      name: "Publish a session",
      text: lines(
        `curl -sS ${url}/api/publish_interaction \\`,
        key !== null && `  -H 'Authorization: Bearer ${key}' \\`,
        `  -H 'Content-Type: application/json' -d '{`,
        `    "user_id": "ada", "session_id": "hello-curl", "session_finished": true,`,
        `    "interaction_data_list": [`,
        `      {"role": "User", "content": "Where is my parcel?"},`,
        `      {"role": "Assistant", "content": "It arrives on Tuesday."},`,
        `      {"role": "User", "content": "Great, that works now. Thank you!"}`,
        `    ]}'`,
      ),
    },
  ],
  python: (server) => [
    { name: "In a checkout of Evenhand", text: lines("pip install ./sdk/python", ...settings(server)) },
    {
      name: "Your agent",
      text: lines(
        `import evenhand`,
        ``,
        `with evenhand.session("ada", "hello-python") as s:`,
        `    s.user("Where is my parcel?")`,
        `    s.assistant("It arrives on Tuesday.", tools=["look_up_order"])`,
        ``,
        `evenhand.outcome("hello-python", "success")`,
      ),
    },
  ],
  typescript: (server) => [
    {
      name: "In a checkout of Evenhand",
      text: lines(
        "(cd sdk/typescript && npm ci && npm run build)",
        "npm install ./sdk/typescript",
        ...settings(server),
      ),
    },
    {
      name: "Your agent",
      text: lines(
        `import { session } from "@evenhand/client";`,
        ``,
        `const s = session("ada", "hello-typescript");`,
        `s.user("Where is my parcel?");`,
        `s.assistant("It arrives on Tuesday.", { tools: ["look_up_order"] });`,
        `s.outcome("success");`,
        `await s.finish();`,
      ),
    },
  ],
  opentelemetry: ({ url, key }) => [
    {
      name: "The environment of your agent",
      text: lines(
        `export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=${url}/v1/traces`,
        `export OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf`,
        key !== null && `export OTEL_EXPORTER_OTLP_TRACES_HEADERS="authorization=Bearer ${key}"`,
        `# OpenTelemetry's own instrumentations keep what was said only with these:`,
        `export OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental`,
        `export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only`,
      ),
    },
    {
      name: "User and session of a call, here with OpenInference for Python",
      text: lines(
        `from openinference.instrumentation import using_attributes`,
        ``,
        `with using_attributes(user_id="ada", session_id="hello-opentelemetry"):`,
        `    client.chat.completions.create(model="gpt-5", messages=messages)`,
      ),
    },
  ],
  mcp: (server) => [
    {
      name: "A client that starts a command",
      text: lines(
        `{`,
        `  "mcpServers": {`,
        `    "evenhand": {`,
        `      "command": "evenhand",`,
        `      "args": [${["mcp", ...options(server)].map((option) => `"${option}"`).join(", ")}]`,
        `    }`,
        `  }`,
        `}`,
      ),
    },
    {
      name: "A client that connects over HTTP",
      text: lines(
        `{`,
        `  "mcpServers": {`,
        `    "evenhand": {`,
        `      "url": "${server.url}/mcp"${server.key === null ? "" : ","}`,
        server.key !== null && `      "headers": { "Authorization": "Bearer ${server.key}" }`,
        `    }`,
        `  }`,
        `}`,
      ),
    },
  ],
  import: (server) => {
    const command = `evenhand import langfuse traces.jsonl \\\n  ${options(server).join(" ")}`;
    return [
      { name: "See what is understood; nothing is sent", text: `${command} --dry-run` },
      { name: "Import", text: command },
    ];
  },
};

export const TEXTS: Record<Way, ReactNode> = {
  curl: (
    <>
      One request is one step of a conversation; several with the same user and session continue it. The verdict follows
      about a second after the session is finished.{" "}
      <a href="/docs" target="_blank" rel="noreferrer">
        The API
      </a>{" "}
      has everything else.
    </>
  ),
  python: (
    <>
      Your agent neither waits for Evenhand nor fails with it: turns go to a folder first and are delivered in the
      background, each once. <code>client = evenhand.wrap(OpenAI())</code> records a model's client by itself;
      Anthropic, LangChain, LangGraph and LiteLLM are in <code>docs/python.md</code>.
    </>
  ),
  typescript: (
    <>
      Node 18 and newer, and workers. Turns are delivered in the background, each once.{" "}
      <code>const client = wrap(new OpenAI(), s)</code> records a model's client by itself; the rest is in{" "}
      <code>docs/typescript.md</code>.
    </>
  ),
  opentelemetry: (
    <>
      An agent that is instrumented already needs no other client: its calls of a model become turns of sessions. Spans
      must carry <code>user.id</code>, and <code>session.id</code> or <code>gen_ai.conversation.id</code>. GenAI
      conventions, OpenLLMetry, OpenInference and the Vercel AI SDK are understood: <code>docs/opentelemetry.md</code>.
    </>
  ),
  mcp: (
    <>
      Give one of these to a client that speaks MCP, and ask it to record a conversation: it publishes with{" "}
      <code>publish_turns</code>, looks up with <code>search_learnings</code> and tells how it ended with{" "}
      <code>report_outcome</code>. Other clients are in <code>docs/mcp.md</code>.
    </>
  ),
  import: (
    <>
      Brings the last months from files that another tool exports. In place of <code>langfuse</code> stands the format:{" "}
      <code>langfuse</code>, <code>langsmith</code>, <code>phoenix</code>, <code>openai</code> or <code>jsonl</code>.
      Nothing is stored twice, and an interrupted import goes on with the same command: <code>docs/import.md</code>.
    </>
  ),
};
