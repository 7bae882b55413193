/** Servers that tests start: the real one, and one that answers as a test says. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import * as fs from "node:fs";
import * as http from "node:http";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { Client, type Options } from "@evenhand/client";

export const BINARY = process.env.BINARY ?? "";

/** The server refuses variables it does not know, and the client's are none of its own. */
const ENVIRONMENT = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("EVENHAND_")));

/** Waits for a condition, not for a time. */
export async function until<T>(
  condition: () => T | Promise<T>,
  seconds = 20,
  what = "the condition",
): Promise<NonNullable<T>> {
  const limit = Date.now() + seconds * 1000;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > limit) throw new Error(`not within ${seconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export function folder(): string {
  return fs.mkdtempSync(path.join(os.tmpdir(), "evenhand-sdk-"));
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as net.AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** The real binary on data of its own; it can be stopped and started again on the same port. */
export class Evenhand {
  readonly folder = folder();
  headers: Record<string, string> = {};
  private process: ChildProcess | undefined;

  private constructor(readonly port: number) {}

  static async start(): Promise<Evenhand> {
    const made = new Evenhand(await freePort());
    await made.start();
    return made;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const log = fs.openSync(path.join(this.folder, "server.log"), "a");
    const where = ["--data-dir", path.join(this.folder, "data"), "--listen", `127.0.0.1:${this.port}`];
    const child = spawn(BINARY, ["serve", ...where], { stdio: ["ignore", log, log], env: ENVIRONMENT });
    this.process = child;
    fs.closeSync(log);
    await until(
      async () => {
        if (child.exitCode !== null) throw new Error(fs.readFileSync(path.join(this.folder, "server.log"), "utf8"));
        return fetch(`${this.url}/health/ready`).then(
          (response) => response.ok,
          () => false,
        );
      },
      180,
      "the server is ready",
    );
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = this.process;
    this.process = undefined;
    if (!child) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await ended;
  }

  key(role: string): string {
    const data = ["--data-dir", path.join(this.folder, "data")];
    return execFileSync(BINARY, ["keys", "create", ...data, "--role", role, "--name", "test"], { env: ENVIRONMENT })
      .toString()
      .trim();
  }

  async call(address: string, body?: unknown): Promise<any> {
    const headers = { "content-type": "application/json", ...this.headers };
    const how = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(this.url + address, how);
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return response.json();
  }

  async session(user: string, session: string): Promise<any> {
    const { sessions } = await this.call(`/api/sessions?user_id=${user}`);
    return sessions.find((one: any) => one.session_id === session);
  }

  /** All turns of a user, session by session, each in the order of its transcript. */
  async turns(user: string): Promise<any[]> {
    const { sessions } = await this.call(`/api/sessions?user_id=${user}&limit=200`);
    const names: string[] = sessions.map((one: any) => one.session_id).sort();
    const found = [];
    for (const name of names) found.push(...(await this.call(`/api/sessions/${user}/${name}`)).interactions);
    return found;
  }

  async contents(user: string): Promise<string[]> {
    return (await this.turns(user)).map((turn) => turn.content);
  }
}

export interface Request {
  path: string;
  body: any;
}

/** A list of texts as body is sent as server-sent events. */
export type Reply = [status: number, headers: Record<string, string>, body: unknown];
export type Answerer = (request: Request) => Reply | Promise<Reply>;

/** Answers with what a function says. */
export class Stub {
  readonly requests: Request[] = [];
  private constructor(
    private readonly server: http.Server,
    readonly url: string,
  ) {}

  static async start(answer: Answerer): Promise<Stub> {
    const server = http.createServer(async (incoming, outgoing) => {
      const parts: Buffer[] = [];
      for await (const part of incoming) parts.push(part);
      const text = Buffer.concat(parts).toString();
      const request = { path: incoming.url ?? "", body: text ? JSON.parse(text) : undefined };
      stub.requests.push(request);
      const [status, headers, body] = await answer(request);
      const events = Array.isArray(body);
      outgoing.writeHead(status, { "content-type": events ? "text/event-stream" : "application/json", ...headers });
      outgoing.end(events ? body.join("") : JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const stub = new Stub(server, `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`);
    return stub;
  }

  published(): any[] {
    return this.requests.filter((one) => one.path === "/api/publish_interaction").map((one) => one.body);
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

export function problem(status: number, code: string, errors: any[] = [], headers: Record<string, string> = {}): Reply {
  return [status, headers, { status, code, detail: "", errors }];
}

/** Publishes are answered one after the other, then with 200. */
export function script(...answers: Reply[]): Answerer {
  return (request) => (request.path === "/health/live" ? undefined : answers.shift()) ?? [200, {}, {}];
}

/** A client that throws, so that a test sees every fault. */
export function client(url: string, options: Options = {}): Client {
  return new Client({
    url,
    spool: folder(),
    batchSeconds: 0.05,
    maxBackoff: 0.2,
    // The first search of a server beside other tests can take longer than users would wait.
    searchTimeout: 30,
    strict: true,
    log: () => {},
    ...options,
  });
}
