/** The one way to the server: typed by the specification, with the browser's proof on changes. */
import createClient, { type Middleware } from "openapi-fetch";
import type { components, paths } from "./schema.gen.ts";
import { reach } from "./reach.ts";

export type Schemas = components["schemas"];

/** An error answer of the server, in its own words. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly errors: { pointer: string; detail: string }[];

  constructor(status: number, body: Partial<Schemas["Problem"]> | undefined) {
    super(body?.detail ?? `The server answered ${status}.`);
    this.status = status;
    this.code = body?.code ?? "unknown";
    this.errors = body?.errors ?? [];
  }
}

/** How this browser stands with the server: the answer of `/auth/session`. */
export type Session = {
  state: "local" | "signed_in" | "signed_out";
  org_id: string | null;
  csrf: string | null;
  role: "agent" | "publish" | "dashboard" | "auditor" | "governance" | null;
  governance: boolean;
  /** The person who signed in with the provider. */
  person: { name: string; email: string | null } | null;
  /** The organizations that the session can switch between. */
  organizations: string[];
  /** The provider that people can sign in with, by its name. */
  provider: string | null;
};

let csrf: string | null = null;

/** Who is calling, and the proof that a change comes from this page. */
export function proof(method: string): Record<string, string> {
  return { "X-Evenhand-Caller": "dashboard", ...(csrf && method !== "GET" ? { "X-Evenhand-CSRF": csrf } : {}) };
}

const headers: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(proof(request.method))) request.headers.set(name, value);
    return request;
  },
  async onResponse({ response }) {
    await noticeRefusal(response);
  },
};

let refused: (() => void) | null = null;

/** Calls back when a call is answered that nobody is signed in, or that another tab switched the organization; returns
 *  how to stop that. */
export function whenRefused(callback: () => void): () => void {
  refused = callback;
  return () => {
    refused = null;
  };
}

async function noticeRefusal(response: Response): Promise<void> {
  const code = async () => ((await response.clone().json()) as Partial<Schemas["Problem"]>).code;
  if (response.status === 401 || (response.status === 403 && (await code().catch(() => "")) === "csrf_missing")) {
    refused?.();
  }
}

export const api = createClient<paths>({ baseUrl: window.location.origin, fetch: reach });
api.use(headers);

/** The data of an answer, or its problem thrown. */
export async function ok<T>(answer: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await answer;
  if (!response.ok) throw new Problem(response.status, error as Schemas["Problem"] | undefined);
  return data as T;
}

async function session(method: string, body?: unknown): Promise<Session> {
  const init: RequestInit = { method, headers: { ...proof(method), "Content-Type": "application/json" } };
  if (body !== undefined) init.body = JSON.stringify(body);
  const response = await reach("/auth/session", init);
  const answer = await response.json();
  if (!response.ok) throw new Problem(response.status, answer);
  csrf = (answer as Session).csrf;
  return answer as Session;
}

export const lookAtSession = () => session("GET");
export const signIn = (token: string) => session("POST", { token });
export const signOut = () => session("DELETE");
export const switchTo = (org_id: string) => session("PATCH", { org_id });

/** A download that needs the same headers as every other call. */
export async function download(path: string, name: string, body?: unknown): Promise<void> {
  const method = body === undefined ? "GET" : "POST";
  const headers = { ...proof(method), "Content-Type": "application/json" };
  const response = await reach(path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  await noticeRefusal(response);
  if (!response.ok) throw new Problem(response.status, await response.json().catch(() => undefined));
  saveAs(await response.blob(), name);
}

/** Hands a file to the browser. */
export function saveAs(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
