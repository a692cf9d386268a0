// Which files are again as they were before the agent changed them, where no repository tells: somebody took the change
// back here, or a command did.

import { Refused } from "./ask";
import type { Change } from "./changes";
import { workspace } from "./workspace";

/** Those of the changes of which nothing is left. What cannot be read is left as it is told. */
export async function undone(conversation: string, changes: readonly Change[]): Promise<Change[]> {
  const found = await Promise.all(changes.map((change) => isUndone(conversation, change)));
  return changes.filter((_, index) => found[index]);
}

async function isUndone(conversation: string, { path, before }: Change): Promise<boolean> {
  try {
    const now = await workspace.readText(conversation, path);
    return now !== null && now === before;
  } catch (error) {
    return before === null && error instanceof Refused && error.status === 404;
  }
}

/** The changes without those that were found undone, unless they were made anew since. */
export const without = (changes: readonly Change[], gone: readonly Change[]): Change[] =>
  changes.filter(({ path, after }) => !gone.some((each) => each.path === path && each.after === after));
