/** Buttons, fields and choices: native elements, one look. */
import type { ButtonHTMLAttributes, InputHTMLAttributes, ReactNode, SelectHTMLAttributes } from "react";
import { useId } from "react";

type Look = "primary" | "plain" | "quiet" | "danger";
const looks: Record<Look, string> = {
  primary: "bg-accent text-on-accent hover:brightness-110 border-transparent",
  plain: "bg-panel text-ink border-line-strong hover:bg-raised",
  quiet: "bg-transparent text-soft border-transparent hover:bg-line/60 hover:text-ink",
  danger: "bg-bad text-panel border-transparent hover:brightness-110",
};

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & { look?: Look; small?: boolean };

export function Button({ look = "plain", small, className = "", ...rest }: ButtonProps) {
  const size = small ? "h-7 px-2.5 text-[0.84rem]" : "h-9 px-3.5";
  return (
    <button
      type="button"
      {...rest}
      className={`inline-flex items-center justify-center gap-1.5 rounded-lg border font-medium whitespace-nowrap
        transition-colors disabled:opacity-50 ${size} ${looks[look]} ${className}`}
    />
  );
}

export function IconButton({ label, className = "", ...rest }: ButtonProps & { label: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={`inline-grid size-8 place-items-center rounded-lg text-soft transition-colors hover:bg-line/60
        hover:text-ink ${className}`}
    />
  );
}

const box = "h-9 rounded-lg border border-line-strong bg-panel px-2.5 text-ink placeholder:text-faint";

export function TextField({
  label,
  hint,
  hidden,
  className = "",
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { label: string; hint?: ReactNode; hidden?: boolean }) {
  const id = useId();
  return (
    <div className={`flex flex-col gap-1 ${className}`}>
      <label htmlFor={id} className={hidden ? "sr-only" : "label"}>
        {label}
      </label>
      <input id={id} {...rest} aria-describedby={hint ? `${id}-hint` : undefined} className={`${box} w-full`} />
      {hint && (
        <p id={`${id}-hint`} className="text-[0.82rem] text-faint">
          {hint}
        </p>
      )}
    </div>
  );
}

export function TextArea({
  label,
  hint,
  rows = 4,
  value,
  onChange,
  maxLength,
}: {
  label: string;
  hint?: ReactNode;
  rows?: number;
  value: string;
  onChange: (text: string) => void;
  maxLength?: number;
}) {
  const id = useId();
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="label">
        {label}
      </label>
      <textarea
        id={id}
        rows={rows}
        value={value}
        maxLength={maxLength}
        onChange={(e) => onChange(e.target.value)}
        aria-describedby={hint ? `${id}-hint` : undefined}
        className="rounded-lg border border-line-strong bg-panel px-2.5 py-2 leading-relaxed"
      />
      {hint && (
        <p id={`${id}-hint`} className="text-[0.82rem] text-faint">
          {hint}
        </p>
      )}
    </div>
  );
}

export function Select({
  label,
  hidden,
  options,
  className = "",
  ...rest
}: SelectHTMLAttributes<HTMLSelectElement> & {
  label: string;
  hidden?: boolean;
  options: [value: string, text: string][];
}) {
  const id = useId();
  return (
    <div className={`flex flex-col gap-1 ${className}`}>
      <label htmlFor={id} className={hidden ? "sr-only" : "label"}>
        {label}
      </label>
      <select id={id} {...rest} className={`${box} pr-7`}>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

/** One of a few choices side by side. */
export const choiceLook = (isChosen: boolean) =>
  `inline-flex h-7.5 items-center rounded-md px-2.5 text-[0.87rem] whitespace-nowrap transition-colors ${
    isChosen ? "bg-panel font-semibold text-ink shadow-sm ring-1 ring-line" : "text-soft hover:text-ink"
  }`;

/** A few choices side by side, of which one holds. */
export function Segmented<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T;
  options: readonly (readonly [T, ReactNode, string?])[];
  onChange: (value: T) => void;
}) {
  return (
    <div
      role="group"
      aria-label={label}
      className="inline-flex max-w-full flex-wrap rounded-lg border border-line bg-raised p-0.5">
      {options.map(([option, text, name]) => (
        <button
          key={option}
          type="button"
          aria-pressed={option === value}
          aria-label={name}
          title={name}
          onClick={() => onChange(option)}
          className={choiceLook(option === value)}>
          {text}
        </button>
      ))}
    </div>
  );
}

export function Checkbox({
  label,
  checked,
  onChange,
  hint,
}: {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  hint?: string;
}) {
  const id = useId();
  return (
    <div className="flex gap-2.5">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        onChange={(e) => onChange(e.target.checked)}
        className="mt-1 size-4 accent-accent"
      />
      <label htmlFor={id}>
        {label}
        {hint && <span className="block text-[0.84rem] text-faint">{hint}</span>}
      </label>
    </div>
  );
}
