// The end of the log of the conversation that the address names, asked for while its page is still being loaded.

import { api, type HistoryPage } from "./api";
import { useKey } from "./key";
import { shownConversation } from "./route";

let early: { id: string; page: Promise<HistoryPage> } | null = null;

/** Begins to open what the address names. */
export function openEarly(): void {
  const id = shownConversation();
  if (!id || !useKey.getState().key) return;
  early = { id, page: api.history(id, null) };
  early.page.catch(() => {}); // whoever takes it hears of it
}

/** The end of a log: what was asked for early, once; else anew. */
export function endOf(id: string): Promise<HistoryPage> {
  const asked = early?.id === id ? early.page : api.history(id, null);
  early = null;
  return asked;
}
