/** The furniture of a page: header, cards, tiles, and what stands where nothing is yet. */
import type { ReactNode } from "react";
import { useEffect } from "react";
import { Problem } from "../api/client.ts";
import { Unreachable } from "../api/reach.ts";
import { Button } from "./controls.tsx";
import * as Icon from "./icons.tsx";

export function Page({
  title,
  lead,
  actions,
  children,
}: {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Evenhand`;
  }, [title]);
  return (
    <div className="mx-auto flex max-w-[1400px] flex-col gap-4 px-4 py-5 sm:px-7 sm:py-6">
      <header className="flex flex-wrap items-end justify-between gap-x-6 gap-y-3">
        <div>
          <h1 className="text-[1.45rem] leading-tight font-semibold tracking-[-0.015em]">{title}</h1>
          {lead && <p className="mt-0.5 max-w-[72ch] text-soft">{lead}</p>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export function Card({
  title,
  lead,
  aside,
  children,
  className = "",
  flush,
}: {
  title?: ReactNode;
  lead?: ReactNode;
  aside?: ReactNode;
  children: ReactNode;
  className?: string;
  flush?: boolean;
}) {
  return (
    <section className={`min-w-0 rounded-xl border border-line bg-panel ${className}`}>
      {(title || aside) && (
        <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-1 px-4 pt-3.5 sm:px-5">
          <div className="min-w-0 flex-[1_1_200px]">
            {title && <h2 className="text-[1rem] font-semibold tracking-[-0.005em]">{title}</h2>}
            {lead && <p className="text-[0.87rem] text-faint">{lead}</p>}
          </div>
          {aside && <div className="flex items-center gap-1">{aside}</div>}
        </div>
      )}
      <div className={flush ? "pt-3" : "px-4 pt-3 pb-4 sm:px-5"}>{children}</div>
    </section>
  );
}

/** One number with its name, and what is to be known about it. */
export function Tile({
  label,
  value,
  note,
  tone,
}: {
  label: string;
  value: ReactNode;
  note?: ReactNode;
  tone?: "good" | "bad" | undefined;
}) {
  const color = tone === "good" ? "text-good" : tone === "bad" ? "text-bad" : "text-soft";
  return (
    <div className="rounded-xl border border-line bg-panel px-4 py-3">
      <div className="label">{label}</div>
      <div className="num mt-0.5 text-[1.5rem] leading-tight font-semibold tracking-[-0.02em]">{value}</div>
      {note && <div className={`num mt-1 text-[0.84rem] ${color}`}>{note}</div>}
    </div>
  );
}

export function Tiles({ children }: { children: ReactNode }) {
  return <div className="grid grid-cols-[repeat(auto-fit,minmax(165px,1fr))] gap-3">{children}</div>;
}

/** Where nothing is yet: what would be here, and how to get it. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-10 text-center">
      <div aria-hidden="true" className="mb-1 grid size-11 place-items-center rounded-full bg-accent-soft text-accent">
        <Icon.Overview />
      </div>
      <p className="font-semibold">{title}</p>
      {children && <div className="max-w-[56ch] text-soft">{children}</div>}
      {action && <div className="mt-2">{action}</div>}
    </div>
  );
}

export function Skeleton({ height, className = "" }: { height: number; className?: string }) {
  return <div className={`skeleton ${className}`} style={{ height }} />;
}

/** A question that went wrong, in the server's words, with a way to ask again. A server that does not answer has one message
 *  for the whole page (`ServerAway`). */
export function Trouble({ error, retry }: { error: unknown; retry?: () => void }) {
  if (error instanceof Unreachable) return null;
  const problem = error instanceof Problem ? error : null;
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center gap-3 rounded-lg border border-bad/30 bg-bad-soft px-4 py-3">
      <Icon.Warning className="text-bad" />
      <div className="min-w-0 flex-1">
        <p className="font-medium">{error instanceof Error ? error.message : String(error)}</p>
        {problem && problem.errors.length > 1 && (
          <ul className="mt-1 list-disc pl-4 text-soft">
            {problem.errors.map((e) => (
              <li key={e.pointer}>
                <code>{e.pointer}</code> {e.detail}
              </li>
            ))}
          </ul>
        )}
      </div>
      {retry && (
        <Button small onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

type Tone = "good" | "bad" | "warn" | "accent" | "rival" | "neutral";
const tones: Record<Tone, string> = {
  good: "bg-good-soft text-good",
  bad: "bg-bad-soft text-bad",
  warn: "bg-warn-soft text-warn",
  accent: "bg-accent-soft text-accent",
  rival: "bg-rival-soft text-rival",
  neutral: "bg-line/70 text-soft",
};

export function Badge({ tone = "neutral", children, title }: { tone?: Tone; children: ReactNode; title?: string }) {
  return (
    <span
      title={title}
      className={`inline-flex items-center gap-1 rounded-md px-1.5 py-px text-[0.82rem] font-medium whitespace-nowrap ${tones[tone]}`}>
      {children}
    </span>
  );
}

/** Something worth knowing beside the numbers. */
export function Note({
  tone = "neutral",
  children,
}: {
  tone?: "neutral" | "warn" | "bad" | "good";
  children: ReactNode;
}) {
  const looks = {
    neutral: "border-line bg-raised",
    warn: "border-warn/30 bg-warn-soft",
    bad: "border-bad/30 bg-bad-soft",
    good: "border-good/30 bg-good-soft",
  };
  return <div className={`rounded-lg border px-3.5 py-2.5 text-[0.93rem] ${looks[tone]}`}>{children}</div>;
}

/** Names and values, one per row. */
export function Facts({ rows }: { rows: (readonly [string, ReactNode] | null | undefined | false)[] }) {
  return (
    <dl className="grid grid-cols-[minmax(110px,max-content)_1fr] gap-x-4 gap-y-1.5 text-[0.93rem]">
      {rows
        .filter((row) => !!row)
        .map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-faint">{name}</dt>
            <dd className="num min-w-0 break-words">{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export function ProgressBar({ label, done, of }: { label: string; done: number; of: number }) {
  return (
    <div
      className="h-2 overflow-hidden rounded-full bg-line"
      role="progressbar"
      aria-label={label}
      aria-valuenow={done}
      aria-valuemin={0}
      aria-valuemax={of}>
      <div className="h-full bg-accent transition-[width]" style={{ width: `${(100 * done) / Math.max(1, of)}%` }} />
    </div>
  );
}
