// What is being written and not sent yet: it survives a reload and a look elsewhere, but not the tab.

const BEGINNING = "deft.draft.";
/** Where the first message of a new conversation is written. */
export const NEW = "new";

export const draftOf = (id: string) => sessionStorage.getItem(BEGINNING + id) ?? "";

export function keepDraft(id: string, text: string): void {
  try {
    if (text) sessionStorage.setItem(BEGINNING + id, text);
    else sessionStorage.removeItem(BEGINNING + id);
  } catch {
    // No room for it: then it is only on the screen.
  }
}
