// What is open on the screen.

import { create } from "zustand";

interface Screen {
  isSidebarOpen: boolean;
  isPanelOpen: boolean;
  dialog: "palette" | "settings" | null;
  /** Cards that were opened or closed by hand. */
  cards: Record<string, boolean>;
}

export const useScreen = create<Screen>(() => ({
  isSidebarOpen: false,
  isPanelOpen: false,
  dialog: null,
  cards: {},
}));

export function useCard(id: string, isOpenAtFirst: boolean): [boolean, () => void] {
  const isOpen = useScreen((screen) => screen.cards[id]) ?? isOpenAtFirst;
  return [isOpen, () => useScreen.setState(({ cards }) => ({ cards: { ...cards, [id]: !isOpen } }))];
}
