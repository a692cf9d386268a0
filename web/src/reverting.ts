// Takes back what became of a file, and never more than what was looked at.

import { type Change, withoutHunk } from "./changes";
import { type Place, removeIf, replaceIf } from "./compared";
import { t } from "./words";
import { workspace } from "./workspace";

const changed = () => new Error(t("The file has changed meanwhile. Look again and repeat it."));

/** Takes one difference back. */
export async function revertHunk(place: Place, change: Change, hunk: number): Promise<void> {
  const now = await workspace.readText(place.conversation, place.path);
  if (now === null) throw new Error(t("The file is no text, so no part of it can be taken back here."));
  const without = withoutHunk(change, hunk, now);
  if (without === null || !(await replaceIf(place, now, without))) throw changed();
}

/** Takes a change back that only the log knows of: there is no repository. */
export async function revertKnown(place: Place, { before, after }: Change): Promise<void> {
  const isDone = before === null ? await removeIf(place, after) : await replaceIf(place, after, before);
  if (!isDone) throw changed();
}
