// What is being written, or was not sent yet: it survives a reload and a look elsewhere, but not the tab.

import { useEffect, useState } from "react";
import type { Unsent } from "./view";

const DRAFT = "deft.draft.";
const PICTURES = "deft.draft-pictures.";
const UNSENT = "deft.unsent.";
/** Where the first message of a new conversation is written. */
export const NEW = "new";

export const draftOf = (id: string) => sessionStorage.getItem(DRAFT + id) ?? "";

export function keepDraft(id: string, text: string): void {
  if (text) isKept(DRAFT + id, text);
  else sessionStorage.removeItem(DRAFT + id);
}

/** The pictures that are to go with it. They survive as far as there is room for them. */
export function useDraftPictures(id: string) {
  const [pictures, setPictures] = useState(() => JSON.parse(sessionStorage.getItem(PICTURES + id) ?? "[]") as string[]);
  useEffect(() => {
    sessionStorage.removeItem(PICTURES + id);
    if (pictures.length > 0) isKept(PICTURES + id, JSON.stringify(pictures));
  }, [id, pictures]);
  return [pictures, setPictures] as const;
}

export function forgetDraft(id: string): void {
  keepDraft(id, "");
  sessionStorage.removeItem(PICTURES + id);
}

/** Keeps messages until the log has them. */
export function keepUnsent(id: string, unsent: readonly Unsent[]): void {
  if (unsent.length === 0) return sessionStorage.removeItem(UNSENT + id);
  if (isKept(UNSENT + id, JSON.stringify(unsent))) return;
  const texts = unsent.map((message) => ({ ...message, images: [] }));
  isKept(UNSENT + id, JSON.stringify(texts)); // for words there is nearly always room
}

export const unsentOf = (id: string) => JSON.parse(sessionStorage.getItem(UNSENT + id) ?? "[]") as Unsent[];

/** Whether there was room for it; else it is only on the screen. */
export function isKept(place: string, text: string): boolean {
  try {
    sessionStorage.setItem(place, text);
    return true;
  } catch {
    return false;
  }
}
