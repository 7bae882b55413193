/** Every operation of the server, typed by its path. */

import type { paths } from "./schema.gen.js";

export type Verb = "get" | "post" | "put" | "delete";

type Operation<P extends keyof paths, M extends Verb> = paths[P][M];
type Given<T> = T extends { content: { "application/json": infer B } } ? B : never;

export type Body<P extends keyof paths, M extends Verb> =
  Operation<P, M> extends { requestBody: infer R } ? Given<R> : undefined;

export type Query<P extends keyof paths, M extends Verb> =
  Operation<P, M> extends { parameters: { query?: infer Q } } ? Q : undefined;

export type PathParameters<P extends keyof paths, M extends Verb> =
  Operation<P, M> extends { parameters: { path: infer Q } } ? Q : undefined;

export type Answer<P extends keyof paths, M extends Verb> =
  Operation<P, M> extends { responses: { 200: infer R } } ? Given<R> : unknown;

export interface Parts<P extends keyof paths, M extends Verb> {
  body?: Body<P, M>;
  query?: Query<P, M>;
  path?: PathParameters<P, M>;
}

/** The address of a call, with the parameters of its path and query filled in. */
export function address(path: string, parts: { query?: any; path?: any }): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(parts.path?.[name] ?? "")));
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parts.query ?? {}))
    if (value !== undefined && value !== null) query.set(name, String(value));
  return query.size === 0 ? filled : `${filled}?${query}`;
}
