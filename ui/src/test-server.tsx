/** For component tests: answers by path, and a page rendered as the app renders it. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render } from "@testing-library/react";
import type { ReactNode } from "react";
import { MemoryRouter } from "react-router";
import { vi } from "vitest";
import type { Session } from "./api/client.ts";
import { Toasts } from "./parts/toast.tsx";

export type Sent = { method: string; path: string; query: URLSearchParams; body: unknown };

/** Answers requests from a table of `METHOD /path` (without the query), with JSON or a whole response; returns what was sent. */
export function serve(answers: Record<string, unknown | ((sent: Sent) => unknown)>): Sent[] {
  const sent: Sent[] = [];
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    const request = new Request(
      input instanceof Request ? input : new URL(String(input), window.location.origin),
      init,
    );
    const { pathname: path, searchParams: query } = new URL(request.url);
    const text = await request.text();
    const one = { method: request.method, path, query, body: text ? JSON.parse(text) : undefined };
    sent.push(one);
    const answer = answers[`${request.method} ${path}`];
    if (answer === undefined) {
      return Response.json(
        { status: 404, code: "not_found", detail: `nothing at ${path}`, errors: [] },
        { status: 404 },
      );
    }
    const said: unknown = await (typeof answer === "function" ? answer(one) : answer);
    return said instanceof Response ? said : Response.json(said);
  });
  return sent;
}

/** Somebody who runs the installation. */
export const viewer: Session = {
  state: "signed_in",
  org_id: "acme",
  csrf: "proof",
  role: "dashboard",
  governance: false,
  person: null,
  organizations: ["acme"],
  provider: null,
};

export function show(children: ReactNode, address = "/") {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  return render(
    <QueryClientProvider client={client}>
      <MemoryRouter initialEntries={[address]}>
        <Toasts>{children}</Toasts>
      </MemoryRouter>
    </QueryClientProvider>,
  );
}
