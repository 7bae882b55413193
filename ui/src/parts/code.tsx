/** Text for a terminal or an editor, with a button that copies it. */
import { Fragment } from "react";
import { copyText } from "../lib/clipboard.ts";
import { Button, IconButton } from "./controls.tsx";
import * as Icon from "./icons.tsx";
import { useSay } from "./toast.tsx";

/** One block; what `mark` says stands out wherever it occurs in it. */
export function Code({ name, text, mark }: { name: string; text: string; mark?: string | null }) {
  const copy = useCopy();
  const parts = mark ? text.split(mark) : [text];
  return (
    <figure className="min-w-0 rounded-lg border border-line bg-raised">
      <figcaption className="flex items-center justify-between gap-3 border-b border-line py-1.5 pr-1.5 pl-3">
        <span className="label">{name}</span>
        <Button small look="quiet" aria-label={`Copy: ${name}`} onClick={() => copy(text)}>
          <Icon.Copy />
          Copy
        </Button>
      </figcaption>
      <div role="region" aria-label={name} tabIndex={0} className="scroll-thin overflow-x-auto p-3">
        <pre className="text-[0.84rem] leading-relaxed">
          {parts.map((part, place) => (
            <Fragment key={place}>
              {place > 0 && <b className="font-semibold text-accent">{mark}</b>}
              {part}
            </Fragment>
          ))}
        </pre>
      </div>
    </figure>
  );
}

/** A short text to be taken along: an id, a token, a command. */
export function Copied({ text, testid }: { text: string; testid?: string }) {
  const copy = useCopy();
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      <code className="min-w-0 [overflow-wrap:anywhere] select-all" data-testid={testid}>
        {text}
      </code>
      <IconButton label="Copy" onClick={() => copy(text)} className="shrink-0">
        <Icon.Copy />
      </IconButton>
    </span>
  );
}

/** Copies a text and says so. */
export function useCopy(): (text: string) => Promise<void> {
  const say = useSay();
  return async (text) => {
    if (await copyText(text)) say("Copied");
    else say("This browser does not let a page copy: select the text instead", "bad");
  };
}
