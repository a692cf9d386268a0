// The end of the log of the conversation that the address names, asked for while its page is still being loaded.

import { api, type HistoryPage } from "./api";
import { useKey } from "./key";
import { shownConversation } from "./route";

/** How long the first picture waits for it: one picture with it is sooner there than one without and one with it. */
const PATIENCE_MS = 100;

let early: { id: string; page: Promise<HistoryPage>; arrived: HistoryPage | null } | null = null;

/** Begins to open what the address names. */
export function openEarly(): void {
  const id = shownConversation();
  if (!id || !useKey.getState().key) return;
  const asked = { id, page: api.history(id, null), arrived: null as HistoryPage | null };
  asked.page.then((page) => (asked.arrived = page), () => {}); // whoever takes it hears of a failure
  early = asked;
}

/** Settles when it has come, or will not come soon. */
export async function earlyEnd(): Promise<void> {
  if (!early || early.arrived) return;
  const soon = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
  await Promise.race([early.page.catch(() => {}), soon]);
}

/** The end of a log if it is here already, once: it is shown with the first picture then. */
export function arrivedEnd(id: string): HistoryPage | null {
  if (early?.id !== id || !early.arrived) return null;
  const { arrived } = early;
  early = null;
  return arrived;
}

/** The end of a log: what was asked for early, once; else anew. */
export function endOf(id: string): Promise<HistoryPage> {
  const asked = early?.id === id ? early.page : api.history(id, null);
  early = null;
  return asked;
}
