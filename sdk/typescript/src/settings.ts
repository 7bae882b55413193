/** Settings of a client, from arguments, then the environment, then defaults. Times are seconds. */

import { type Log, toConsole } from "./log.js";
import { platform } from "./platform.js";

export interface Options {
  /** EVENHAND_URL, or http://127.0.0.1:8700, when absent. */
  url?: string;
  /** EVENHAND_API_KEY when absent. */
  apiKey?: string;
  /** The folder that holds what was not delivered yet; false keeps it in memory, as it is in workers. */
  spool?: string | false;
  maxSpoolBytes?: number;
  /** A batch is sent when it has this many turns, or is this old, or when its session ends. */
  batchTurns?: number;
  batchSeconds?: number;
  /** How long one attempt to deliver, a search, and `finish` may take. */
  timeout?: number;
  searchTimeout?: number;
  exitTimeout?: number;
  /** The longest wait between two attempts while the server is away. */
  maxBackoff?: number;
  /** Throw instead of logging: for tests and development. */
  strict?: boolean;
  source?: string;
  agentVersion?: string;
  log?: Log;
  fetch?: typeof fetch;
}

export interface Settings {
  url: string;
  apiKey: string | undefined;
  spool: string | undefined;
  maxSpoolBytes: number;
  batchTurns: number;
  batchSeconds: number;
  timeout: number;
  searchTimeout: number;
  exitTimeout: number;
  maxBackoff: number;
  strict: boolean;
  source: string | undefined;
  agentVersion: string | undefined;
  log: Log;
  fetch: typeof fetch;
}

const MIB = 1024 * 1024;

export function settings(options: Options): Settings {
  const { env, defaultSpool } = platform();
  const url = (options.url ?? env("EVENHAND_URL") ?? "http://127.0.0.1:8700").replace(/\/+$/, "");
  const apiKey = options.apiKey ?? env("EVENHAND_API_KEY");
  return {
    url,
    apiKey,
    spool: options.spool === false ? undefined : (options.spool ?? defaultSpool(url, apiKey)),
    maxSpoolBytes: options.maxSpoolBytes ?? 64 * MIB,
    batchTurns: Math.max(1, Math.min(options.batchTurns ?? 100, 1000)),
    batchSeconds: options.batchSeconds ?? 0.5,
    timeout: options.timeout ?? 10,
    searchTimeout: options.searchTimeout ?? 2,
    exitTimeout: options.exitTimeout ?? 5,
    maxBackoff: options.maxBackoff ?? 30,
    strict: options.strict ?? false,
    source: options.source,
    agentVersion: options.agentVersion,
    log: options.log ?? toConsole,
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
  };
}
