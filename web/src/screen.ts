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

export const SECTIONS = ["models", "agent", "safety", "mcp", "skills", "secrets", "git", "server", "browser", "keys"] as const;
export type Section = (typeof SECTIONS)[number];

interface Screen {
  isSidebarOpen: boolean;
  panel: PanelName | null;
  dialog: "palette" | "settings" | "keys" | null;
  /** The part of the settings that is shown. */
  section: Section;
  /** The message before which somebody wants to go back, or the last one. */
  rewindTo: string | null;
  /** Whether the conversation is gone through once more, step by step. */
  isReplayed: boolean;
  /** Cards that were opened or closed by hand. */
  cards: Record<string, boolean>;
}

export const useScreen = create<Screen>(() => ({ isSidebarOpen: false, panel: null, dialog: null, section: "models", rewindTo: null, isReplayed: false, cards: {} }));

/** Stands for the last message. */
export const LAST = "last";

export const rewind = (rewindTo: string | null) => useScreen.setState({ rewindTo });

export const showPanel = (panel: PanelName) => useScreen.setState({ panel });

export function useCard(id: string, isOpenAtFirst: boolean): [boolean, () => void] {
  const isOpen = useScreen((screen) => screen.cards[id]) ?? isOpenAtFirst;
  return [isOpen, () => useScreen.setState(({ cards }) => ({ cards: { ...cards, [id]: !isOpen } }))];
}
