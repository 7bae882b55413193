/** Dark, light, or as the system has it. Remembered in this browser. */
import { useEffect, useState } from "react";

export type Theme = "system" | "light" | "dark";
const KEY = "evenhand-theme";
const dark = () => window.matchMedia("(prefers-color-scheme: dark)");

export function applyTheme(theme = remembered()): void {
  const isDark = theme === "dark" || (theme === "system" && dark().matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}

export function remembered(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(remembered);
  useEffect(() => {
    const media = dark();
    const follow = () => applyTheme();
    media.addEventListener("change", follow);
    return () => media.removeEventListener("change", follow);
  }, []);
  const choose = (next: Theme) => {
    localStorage.setItem(KEY, next);
    setTheme(next);
    applyTheme(next);
  };
  return [theme, choose];
}
