// The key to the server. It comes with the ready link, behind the `#`, which browsers keep to themselves; it is
// taken out of the address at once and kept for this origin.

import { create } from "zustand";

const PLACE = "deft.key";

/** Stands for the key of who has signed in: that is in a cookie, which no script can read. */
export const IN_COOKIE = "cookie";

/** What the key of an address has taken the place of. Anybody can make such a link: if its key is refused, this one is back. */
let replaced: string | null = null;

function fromAddress(): string | null {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  if (key) {
    const before = localStorage.getItem(PLACE);
    if (before !== key) replaced = before;
    history.replaceState(history.state, "", location.pathname + location.search);
    localStorage.setItem(PLACE, key);
  }
  return key;
}

interface Key {
  key: string | null;
  /** The last one was not accepted. */
  isRefused: boolean;
}

export const useKey = create<Key>(() => ({ key: fromAddress() ?? localStorage.getItem(PLACE), isRefused: false }));

export function setKey(key: string): void {
  localStorage.setItem(PLACE, key);
  useKey.setState({ key, isRefused: false });
}

export function forgetKey(): void {
  localStorage.removeItem(PLACE);
  useKey.setState({ key: null, isRefused: false });
}

/** The server does not know it (any more). Another tab may have been given another one meanwhile. */
export function dropKey(): void {
  const key = localStorage.getItem(PLACE);
  if (key && key !== useKey.getState().key) return useKey.setState({ key });
  if (replaced) {
    setKey(replaced);
    replaced = null;
    return;
  }
  forgetKey();
  useKey.setState({ isRefused: true });
}

// What is done with it in one tab holds for all.
addEventListener("storage", ({ key, newValue }) => {
  if (key === PLACE) useKey.setState({ key: newValue, isRefused: false });
});

// A ready link that is opened in a tab where the app runs already only changes what is behind the `#`.
addEventListener("hashchange", () => {
  const key = fromAddress();
  if (key) useKey.setState({ key });
});
