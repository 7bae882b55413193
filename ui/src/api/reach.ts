/** Calls of the server, and whether it answers them. */
import { useSyncExternalStore } from "react";

/** A call that got no answer: the server is away, or the way to it. */
export class Unreachable extends Error {
  constructor(cause: unknown) {
    super("The server cannot be reached.", { cause });
  }
}

let isAway = false;
const listeners = new Set<() => void>();

function notice(away: boolean): void {
  if (away === isAway) return;
  isAway = away;
  for (const tell of listeners) tell();
}

/** `fetch` that notices a server which does not answer. A call that was given up says nothing about the server. */
export async function reach(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  try {
    const response = await fetch(input, init);
    notice(false);
    return response;
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    notice(true);
    throw new Unreachable(cause);
  }
}

function subscribe(tell: () => void): () => void {
  listeners.add(tell);
  return () => listeners.delete(tell);
}

/** True from a call without an answer until the next one with an answer. */
export const useServerAway = () => useSyncExternalStore(subscribe, () => isAway);
