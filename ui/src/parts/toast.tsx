/** Short messages after something was done; read out by screen readers, gone after a while. */
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import * as Icon from "./icons.tsx";

type Message = { id: number; text: string; tone: "good" | "bad" };
const Say = createContext<(text: string, tone?: Message["tone"]) => void>(() => {});
export const useSay = () => useContext(Say);

export function Toasts({ children }: { children: ReactNode }) {
  const [messages, setMessages] = useState<Message[]>([]);
  const say = useCallback((text: string, tone: Message["tone"] = "good") => {
    const id = Date.now() + Math.random();
    setMessages((old) => [...old.slice(-2), { id, text, tone }]);
    setTimeout(() => setMessages((old) => old.filter((m) => m.id !== id)), 6000);
  }, []);
  const shown = useMemo(() => messages, [messages]);
  return (
    <Say.Provider value={say}>
      {children}
      <div
        aria-live="polite"
        role="status"
        className="pointer-events-none fixed right-4 bottom-4 z-50 flex flex-col gap-2">
        {shown.map((m) => (
          <div
            key={m.id}
            className="flex items-center gap-2.5 rounded-xl border border-line bg-panel px-4 py-2.5 shadow-lg">
            <span className={m.tone === "good" ? "text-good" : "text-bad"}>
              {m.tone === "good" ? <Icon.Check /> : <Icon.Warning />}
            </span>
            {m.text}
          </div>
        ))}
      </div>
    </Say.Provider>
  );
}
