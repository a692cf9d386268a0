// Remarks on lines of changed files, until they are sent to the agent as one message. They survive a reload.

import { create } from "zustand";
import { createJSONStorage, persist } from "zustand/middleware";
import { isKept } from "./drafts";

export interface Comment {
  path: string;
  line: number;
  /** Whether the line is of the file as it was. */
  side: "old" | "new";
  /** What stands there. */
  code: string;
  text: string;
}

/** Where there is no room for them they are only on the screen. */
const storage = createJSONStorage<Record<string, Comment[]>>(() => ({
  getItem: (name) => sessionStorage.getItem(name),
  setItem: (name, value) => void isKept(name, value),
  removeItem: (name) => sessionStorage.removeItem(name),
}));

/** By conversation. */
export const useComments = create<Record<string, Comment[]>>()(
  persist((): Record<string, Comment[]> => ({}), { name: "deft.comments", storage }),
);

export function addComment(conversation: string, comment: Comment): void {
  useComments.setState((all) => ({ [conversation]: [...(all[conversation] ?? []), comment] }));
}

export function removeComment(conversation: string, comment: Comment): void {
  useComments.setState((all) => ({ [conversation]: (all[conversation] ?? []).filter((other) => other !== comment) }));
}

/** The message that tells the agent about them. It is for the agent, so it is English. */
export function asMessage(comments: readonly Comment[]): string {
  const one = ({ path, line, side, code, text }: Comment) =>
    `${path}:${line}${side === "old" ? " (before the change)" : ""}\n> ${code.trim() || "(empty line)"}\n${text.trim()}`;
  return `Please look at these comments on the changes:\n\n${comments.map(one).join("\n\n")}`;
}
