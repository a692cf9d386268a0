import type { Theme } from "./preferences";
import { t } from "./words";

/** What the appearances are called. */
export const themeWords = (): Record<Theme, string> => ({
  system: t("as the system"),
  light: t("light"),
  dark: t("dark"),
});
