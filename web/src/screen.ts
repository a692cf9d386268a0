// What is open on the screen.

import { create } from "zustand";
import { t } from "./words";

export const PANELS = ["changes", "files", "terminal", "tasks", "browser", "context", "preview"] as const;
export type PanelName = (typeof PANELS)[number];

export const panelWords = (): Record<PanelName, string> => ({
  changes: t("Changes"),
  files: t("Files"),
  terminal: t("Terminal"),
  tasks: t("Tasks"),
  browser: t("Browser"),
  context: t("Context"),
  preview: t("Preview"),
});

export const SECTIONS = ["models", "agent", "safety", "mcp", "skills", "secrets", "git", "server", "browser"] as const;
export type Section = (typeof SECTIONS)[number];

interface Screen {
  isSidebarOpen: boolean;
  panel: PanelName | null;
  dialog: "palette" | "settings" | "keys" | null;
  /** The part of the settings that is shown. */
  section: Section;
  /** Cards that were opened or closed by hand. */
  cards: Record<string, boolean>;
}

export const useScreen = create<Screen>(() => ({ isSidebarOpen: false, panel: null, dialog: null, section: "models", cards: {} }));

export const showPanel = (panel: PanelName) => useScreen.setState({ panel });

export function useCard(id: string, isOpenAtFirst: boolean): [boolean, () => void] {
  const isOpen = useScreen((screen) => screen.cards[id]) ?? isOpenAtFirst;
  return [isOpen, () => useScreen.setState(({ cards }) => ({ cards: { ...cards, [id]: !isOpen } }))];
}
