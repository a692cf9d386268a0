// Takes back what became of a file, and never more than what was looked at.

import { type Change, withoutHunk } from "./changes";
import { quoted } from "./quoting";
import { t } from "./words";
import { workspace } from "./workspace";

const changed = () => new Error(t("The file has changed meanwhile. Look again and repeat it."));

/** Takes one difference back. */
export async function revertHunk(conversation: string, path: string, change: Change, hunk: number): Promise<void> {
  const now = await workspace.readText(conversation, path);
  if (now === null) throw new Error(t("The file is no text, so no part of it can be taken back here."));
  const without = withoutHunk(change, hunk, now);
  if (without === null) throw changed();
  await workspace.write(conversation, path, new Blob([without]));
}

/** Takes a change back that only the log knows of: there is no repository. */
export async function revertKnown(conversation: string, folder: string, path: string, change: Change): Promise<void> {
  if ((await workspace.readText(conversation, path)) !== change.after) throw changed();
  if (change.before === null) await workspace.run(conversation, `rm -- ${quoted(path)}`, folder);
  else await workspace.write(conversation, path, new Blob([change.before]));
}
