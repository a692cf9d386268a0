import { useSyncExternalStore } from "react";
import { type Theme, usePreferences } from "./preferences";
import { t } from "./words";

/** What the appearances are called. */
export const themeWords = (): Record<Theme, string> => ({
  system: t("same as the system"),
  light: t("light"),
  dark: t("dark"),
});

const system = matchMedia("(prefers-color-scheme: dark)");

function follow(listener: () => void): () => void {
  system.addEventListener("change", listener);
  return () => system.removeEventListener("change", listener);
}

/** Whether the page is dark now. */
export function useDark(): boolean {
  const theme = usePreferences((preferences) => preferences.theme);
  const isSystemDark = useSyncExternalStore(follow, () => system.matches);
  return theme === "system" ? isSystemDark : theme === "dark";
}
