// What an edit that has not been made yet would do, line by line.

import type { Fields } from "./wire";

/** What goes away and what comes, in the arguments of each tool that edits. */
const REMOVED = ["old_str", "old_string"];
const ADDED = ["new_str", "new_string", "file_text", "content"];

/** The lines with their marks. */
export function plannedLines(action: Fields): string {
  const marked = (names: string[], mark: string) =>
    names.flatMap((name) => {
      const text = action[name];
      return typeof text === "string" && text !== "" ? text.replace(/\n$/, "").split("\n").map((line) => mark + line) : [];
    });
  return [...marked(REMOVED, "-"), ...marked(ADDED, "+")].join("\n");
}
