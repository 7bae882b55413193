/** Keys that act on a page. They do nothing while somebody types, and none with Ctrl, Alt or Command. */
import { useEffect, useRef } from "react";

export function useKeys(actions: Record<string, () => void>): void {
  const newest = useRef(actions);
  useEffect(() => {
    newest.current = actions;
  });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.closest("input, textarea, select, dialog");
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      newest.current[event.key]?.();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}
