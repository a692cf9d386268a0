// Remarks on lines of changed files, until they are sent to the agent as one message. They survive a reload.

import { create } from "zustand";
import { createJSONStorage, persist } from "zustand/middleware";

export interface Comment {
  path: string;
  line: number;
  /** Whether the line is of the file as it was. */
  side: "old" | "new";
  /** What stands there. */
  code: string;
  text: string;
}

/** By conversation. */
export const useComments = create<Record<string, Comment[]>>()(
  persist((): Record<string, Comment[]> => ({}), { name: "deft.comments", storage: createJSONStorage(() => sessionStorage) }),
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
