// What a person is about to name while writing a message: a file after `@`, a command after a `/` at the beginning, or
// the model that `/model` switches to.

export interface Word {
  kind: "file" | "command" | "model";
  /** What is written of it. */
  name: string;
  /** Where it begins, with its mark. */
  start: number;
}

/** What stands before a name. */
export const MARKS: Record<Word["kind"], string> = { file: "@", command: "/", model: "" };

export function wordAt(text: string, caret: number): Word | null {
  const before = text.slice(0, caret);
  const command = /^\/([\w:-]*)$/.exec(before);
  if (command) return { kind: "command", name: command[1] ?? "", start: 0 };
  const model = /^\/model\s+(\S*)$/.exec(before);
  if (model) return { kind: "model", name: model[1] ?? "", start: caret - (model[1]?.length ?? 0) };
  const file = /(?:^|\s)@([^\s@]*)$/.exec(before);
  return file ? { kind: "file", name: file[1] ?? "", start: caret - (file[1]?.length ?? 0) - 1 } : null;
}

/** The text with the word completed, and where the caret stands then. */
export function completed(text: string, caret: number, word: Word, choice: string): { text: string; caret: number } {
  const written = `${MARKS[word.kind]}${choice} `;
  return { text: text.slice(0, word.start) + written + text.slice(caret), caret: word.start + written.length };
}

/** The choices whose names have these letters in this order, those first in which they stand at the beginning or together. */
export function ranked<T extends { name: string }>(choices: readonly T[], written: string): T[] {
  const rank = ({ name }: T) => {
    const [whole, part] = [name.toLowerCase(), written.toLowerCase()];
    if (whole.startsWith(part)) return 0;
    if (whole.includes(part)) return 1;
    let at = 0;
    for (const letter of whole) if (letter === part[at]) at += 1;
    return at === part.length ? 2 : null;
  };
  return choices
    .flatMap((choice) => {
      const place = rank(choice);
      return place === null ? [] : [{ choice, place }];
    })
    .toSorted((one, other) => one.place - other.place)
    .map(({ choice }) => choice);
}
