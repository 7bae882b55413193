/** `wrap(client, session)`: a copy of an OpenAI or Anthropic client whose calls are recorded. */

import type { Message } from "./conversation.js";
import { anthropicChat, anthropicMessage, openaiChat, openaiInput, openaiMessage, openaiOutput } from "./messages.js";
import type { Session } from "./session.js";
import { AnthropicMessages, OpenAIChat, OpenAIResponse, type Parts } from "./streams.js";

/** How the calls of one method are read. */
interface Reader {
  request(given: any): Message[];
  response(answer: any): Message;
  parts(): Parts;
}

const CHAT: Reader = {
  request: (given) => openaiChat(given?.messages),
  response: (answer) => openaiMessage(answer?.choices?.[0]?.message),
  parts: () => new OpenAIChat(),
};
const RESPONSES: Reader = {
  request: (given) => openaiInput(given?.input),
  response: (answer) => openaiOutput(answer?.output),
  parts: () => new OpenAIResponse(),
};
const ANTHROPIC: Reader = {
  request: (given) => anthropicChat(given?.messages),
  response: anthropicMessage,
  parts: () => new AnthropicMessages(),
};

/**
 * A copy of the client that records its calls into the session: `create`, with and without streaming, and the helpers
 * of the packages that call it.
 */
export function wrap<C extends object>(client: C, session: Session): C {
  const given = client as any;
  const copy = typeof given.withOptions === "function" ? given.withOptions({}) : given;
  const places: [any, Reader][] = [
    [copy.chat?.completions, CHAT],
    [copy.responses, RESPONSES],
    [copy.messages, ANTHROPIC],
  ];
  const found = places.filter(([holder]) => typeof holder?.create === "function");
  if (found.length === 0) throw new TypeError("wrap() takes clients of the packages openai and @anthropic-ai/sdk");
  for (const [holder, reader] of found) holder.create = recorded(holder.create.bind(holder), reader, session);
  return copy;
}

function quietly(run: () => void): void {
  try {
    run();
  } catch {
    // A message in a form that is not known; the call itself goes on.
  }
}

function recorded(create: (...given: any[]) => any, reader: Reader, session: Session) {
  return (body: any, ...more: any[]): any => {
    quietly(() => session.conversation.request(reader.request(body)));
    const promise = create(body, ...more);
    const finish = (answer: any): any => {
      if (typeof answer?.[Symbol.asyncIterator] === "function") listen(answer, reader.parts(), session);
      else quietly(() => session.conversation.response(reader.response(answer)));
      return answer;
    };
    // Both packages give a promise that reads the answer only when it is asked for: raw responses stay unread.
    if (typeof promise?._thenUnwrap === "function") return promise._thenUnwrap(finish);
    return promise.then(finish);
  };
}

/** Hands the events of a stream on unchanged, and records the answer once: at its end, or when reading stops before. */
function listen(stream: any, parts: Parts, session: Session): void {
  const events = stream[Symbol.asyncIterator].bind(stream);
  stream[Symbol.asyncIterator] = async function* () {
    try {
      for await (const event of events()) {
        quietly(() => parts.add(event));
        yield event;
      }
    } finally {
      quietly(() => session.conversation.response(parts.message()));
    }
  };
}
