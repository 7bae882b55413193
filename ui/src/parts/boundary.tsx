/** Stands around pages: a fault in one of them leaves a message and a way on, never a blank tab. */
import { Component, type ReactNode, useEffect, useState } from "react";
import { CodeMissing, reloadWhenServed, tab } from "../lib/page-code.ts";
import { Button } from "./controls.tsx";
import { Note, Page } from "./page.tsx";

type Props = { children: ReactNode /** Another address is another page, and starts without a fault. */; at?: string };
type State = { fault: { error: unknown } | null; at: string | undefined };

export class Boundary extends Component<Props, State> {
  override state: State = { fault: null, at: this.props.at };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { fault: { error } };
  }

  static getDerivedStateFromProps(props: Props, state: State): State | null {
    return props.at === state.at ? null : { fault: null, at: props.at };
  }

  override render() {
    if (!this.state.fault) return this.props.children;
    const { error } = this.state.fault;
    return error instanceof CodeMissing ? <Unloaded /> : <Broken error={error} />;
  }
}

/** The page's code is missing: waits for the server, and says so when waiting does not help. */
function Unloaded() {
  const [waits, setWaits] = useState(true);
  useEffect(() => {
    const leaving = new AbortController();
    void reloadWhenServed(leaving.signal).then(setWaits);
    return () => leaving.abort();
  }, []);
  return (
    <Fault title="This page could not be loaded">
      {waits
        ? "The server cannot be reached or was just updated. This page opens by itself as soon as the server answers."
        : "The server answers, but does not have this page's code. If reloading does not help, it may still be in the middle of an update."}
    </Fault>
  );
}

function Broken({ error }: { error: unknown }) {
  return (
    <Fault title="This page has stopped working">
      It ran into an error: <code>{error instanceof Error ? error.message : String(error)}</code>. Nothing that was
      stored is lost.
    </Fault>
  );
}

function Fault({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Page title={title}>
      <div role="alert">
        <Note tone="warn">{children}</Note>
      </div>
      <div>
        <Button look="primary" onClick={() => tab.reload()}>
          Reload
        </Button>
      </div>
    </Page>
  );
}
