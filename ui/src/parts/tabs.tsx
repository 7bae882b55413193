/** Choices of which one is open below. One stop for the tab key; arrows, Home and End walk between them. */
import { type KeyboardEvent, type ReactNode, useId } from "react";
import { choiceLook } from "./controls.tsx";

export function Tabs<T extends string>({
  label,
  value,
  options,
  onChange,
  children,
}: {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
  children: ReactNode;
}) {
  const id = useId();
  const walk = (event: KeyboardEvent) => {
    const place = options.findIndex(([option]) => option === value);
    const places: Record<string, number> = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: -1 };
    const to = places[event.key];
    const next = to === undefined ? undefined : options.at(to % options.length);
    if (!next) return;
    event.preventDefault();
    onChange(next[0]);
    document.getElementById(`${id}-${next[0]}`)?.focus();
  };
  return (
    <div className="flex min-w-0 flex-col items-start gap-4">
      <div
        role="tablist"
        aria-label={label}
        onKeyDown={walk}
        className="inline-flex max-w-full flex-wrap rounded-lg border border-line bg-raised p-0.5">
        {options.map(([option, text]) => (
          <button
            key={option}
            id={`${id}-${option}`}
            type="button"
            role="tab"
            aria-selected={option === value}
            aria-controls={`${id}-panel`}
            tabIndex={option === value ? 0 : -1}
            onClick={() => onChange(option)}
            className={choiceLook(option === value)}>
            {text}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${value}`} className="w-full min-w-0">
        {children}
      </div>
    </div>
  );
}
