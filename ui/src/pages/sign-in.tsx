/** Exchanges a token for a cookie. The token is not kept in the browser. */
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useState } from "react";
import { signIn } from "../api/client.ts";
import { Copied } from "../parts/code.tsx";
import { Button, TextField } from "../parts/controls.tsx";

export function SignIn() {
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
            <p className="text-soft">Sign in with a key's token.</p>
          </div>
        </div>
        <div className="rounded-2xl border border-line bg-panel p-5">
          <TokenForm autoFocus />
        </div>
        <p className="mt-4 text-[0.87rem] text-soft">
          No token? On the server: <Copied text="evenhand keys create --role dashboard" />
        </p>
      </div>
    </main>
  );
}

export function TokenForm({ autoFocus = false }: { autoFocus?: boolean }) {
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
      <Button look="primary" type="submit" disabled={busy || !token.trim()}>
        {busy ? "Signing in…" : "Sign in"}
      </Button>
    </form>
  );
}
