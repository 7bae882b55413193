/** Signs in with the provider, or exchanges a token for a cookie. The token is not kept in the browser. */
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useState } from "react";
import { useLocation } from "react-router";
import { signIn } from "../api/client.ts";
import { Copied } from "../parts/code.tsx";
import { Button, TextField } from "../parts/controls.tsx";

/** Why somebody came back from the provider without being signed in. */
const PROBLEMS: Record<string, string> = {
  cancelled: "Signing in was cancelled.",
  expired: "It took too long, or began in another browser. Try again.",
  unreachable: "The sign-in provider cannot be reached. Try again later, or use a token.",
  refused: "The sign-in provider's answer was not accepted. The server's log says why.",
  no_role: "You have no role here. Whoever runs your sign-in provider can give you one.",
  no_organization: "You belong to no organization here. Whoever runs your sign-in provider can change that.",
};

export function SignIn({ provider }: { provider: string | null }) {
  const { pathname, search } = useLocation();
  const problem = PROBLEMS[new URLSearchParams(search).get("problem") ?? ""];
  const returnTo = pathname === "/sign-in" ? "/" : pathname + search;
  useEffect(() => {
    document.title = "Sign in · Evenhand";
  }, []);
  return (
    <main className="grid min-h-screen place-items-center p-4">
      <div className="w-full max-w-[400px]">
        <div className="mb-6 flex items-center gap-3">
          <img src="/favicon.svg" alt="" width="36" height="36" />
          <div>
            <h1 className="text-[1.3rem] leading-tight font-semibold tracking-[-0.02em]">Evenhand</h1>
            <p className="text-soft">{provider ? "Sign in to the dashboard." : "Sign in with a key's token."}</p>
          </div>
        </div>
        <div className="flex flex-col gap-5 rounded-2xl border border-line bg-panel p-5">
          {problem && (
            <p role="alert" className="text-bad">
              {problem}
            </p>
          )}
          {provider && (
            <>
              <a
                href={`/auth/oidc/start?return_to=${encodeURIComponent(returnTo)}`}
                className="inline-flex h-9 items-center justify-center rounded-lg bg-accent px-3.5 font-medium text-on-accent hover:brightness-110">
                Sign in with {provider}
              </a>
              <p className="border-t border-line pt-4 text-[0.87rem] text-soft">Or with a key's token:</p>
            </>
          )}
          <TokenForm autoFocus={!provider} look={provider ? "plain" : "primary"} />
        </div>
        <p className="mt-4 text-[0.87rem] text-soft">
          No token? On the server: <Copied text="evenhand keys create --role dashboard" />
        </p>
      </div>
    </main>
  );
}

export function TokenForm({
  autoFocus = false,
  look = "primary",
}: {
  autoFocus?: boolean;
  look?: "primary" | "plain";
}) {
  const client = useQueryClient();
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      client.setQueryData(["session"], await signIn(token.trim()));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <TextField
        label="Token"
        type="password"
        autoComplete="off"
        autoFocus={autoFocus}
        required
        placeholder="eh_…"
        value={token}
        onChange={(e) => setToken(e.target.value)}
      />
      {problem && (
        <p role="alert" className="text-bad">
          {problem}
        </p>
      )}
      <Button look={look} type="submit" disabled={busy || !token.trim()}>
        {busy ? "Signing in…" : "Sign in"}
      </Button>
    </form>
  );
}
