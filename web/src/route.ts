// Which conversation is looked at: `/c/ID`, or none.

import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
const tell = () => listeners.forEach((listener) => listener());
addEventListener("popstate", tell);

export function go(conversation: string | null): void {
  const path = conversation ? `/c/${conversation}` : "/";
  if (path !== location.pathname) history.pushState(null, "", path);
  tell();
}

/** The page that a link to a conversation opens; what it holds stands behind the `#`. */
export const SHARED_PATH = "/s";

const named = (path: string) => /^\/c\/([0-9a-f-]+)$/i.exec(path)?.[1] ?? null;

/** What the address names now. */
export const shownConversation = () => named(location.pathname);

export function useRoute(): string | null {
  const path = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => location.pathname,
  );
  return named(path);
}
