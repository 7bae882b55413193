/** A modal question, as the browser's own dialog: focus, Escape and the layer above come with it. */
import type { ReactNode } from "react";
import { useEffect, useId, useRef } from "react";
import { IconButton } from "./controls.tsx";
import * as Icon from "./icons.tsx";

export function Dialog({
  title,
  open,
  onClose,
  children,
  wide,
}: {
  title: string;
  open: boolean;
  onClose: () => void;
  children: ReactNode;
  wide?: boolean;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (!dialog) return;
    if (open && !dialog.open) dialog.showModal();
    if (!open && dialog.open) dialog.close();
  }, [open]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside the dialog closes it, and so does Escape (onClose)
    <dialog
      ref={ref}
      aria-labelledby={id}
      onClose={onClose}
      onClick={(event) => event.target === ref.current && onClose()}
      className={`m-auto w-[calc(100vw-2rem)] rounded-2xl border border-line bg-panel p-0 text-ink shadow-2xl ${wide ? "max-w-[680px]" : "max-w-[480px]"}`}>
      {open && (
        <div className="p-5 sm:p-6">
          <div className="mb-3 flex items-start justify-between gap-4">
            <h2 id={id} className="text-[1.1rem] font-semibold">
              {title}
            </h2>
            <IconButton label="Close" onClick={onClose} className="-mt-1 -mr-2">
              <Icon.Close />
            </IconButton>
          </div>
          {children}
        </div>
      )}
    </dialog>
  );
}
