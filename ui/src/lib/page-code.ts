/** The code of pages is loaded when they open. This is how, and what is done when it cannot be had. */
import { type ComponentType, lazy } from "react";

/** Code that the server did not send: it is away, or has another version with other file names. */
export class CodeMissing extends Error {}

/** The start script of the version that this tab was reloaded for, until some page's code arrives. */
const RELOADED_FOR = "evenhand-reloaded-for";
const RETRY_MS = 2_000;

export const tab = { reload: () => window.location.reload() };

/** A page that is loaded when it is first shown. */
export function page<P>(load: () => Promise<{ default: ComponentType<P> }>) {
  return lazy(async () => {
    const code = await load().catch((cause: unknown) => {
      throw new CodeMissing("This page's code could not be loaded.", { cause });
    });
    sessionStorage.removeItem(RELOADED_FOR);
    return code;
  });
}

/** The script that the server's document starts with: every version has its own. Nothing while the server is away. */
async function servedVersion(): Promise<string | null> {
  try {
    const answer = await fetch("/", { cache: "no-store" });
    const start = new DOMParser()
      .parseFromString(await answer.text(), "text/html")
      .querySelector("script[type=module]");
    return answer.ok ? (start?.getAttribute("src") ?? null) : null;
  } catch {
    return null;
  }
}

/** Waits for the server and reloads the tab, once per version: false if that was tried and did not help. */
export async function reloadWhenServed(leaving: AbortSignal): Promise<boolean> {
  let version = await servedVersion();
  while (version === null && !leaving.aborted) {
    await new Promise((again) => setTimeout(again, RETRY_MS));
    version = await servedVersion();
  }
  if (leaving.aborted || version === null) return true;
  if (sessionStorage.getItem(RELOADED_FOR) === version) return false;
  sessionStorage.setItem(RELOADED_FOR, version);
  tab.reload();
  return true;
}
