// What a conversation is called, and how it is sorted away.

import { visibleControls } from "./plain";
import type { Conversation } from "./wire";
import { t } from "./words";

/** Models write titles, so nothing in one may turn around what stands beside it. */
export const nameOf = (conversation: Conversation) =>
  visibleControls(conversation.title?.trim() || conversation.workspace.working_dir.split("/").at(-1) || t("Conversation"));

/** The tag of those that are put away. */
const ARCHIVED = "archived";
/** The value of a tag whose key says everything. */
const PLAIN = "yes";

export const isArchived = ({ tags }: Conversation) => ARCHIVED in (tags ?? {});

/** The tags a person gave, as they were written. */
export const tagsOf = ({ tags }: Conversation) =>
  Object.entries(tags ?? {}).flatMap(([key, value]) => (key === ARCHIVED ? [] : [keyOf(value) === key ? value : key]));

/** The server takes small Latin letters and digits for the key of a tag; what else was written stands in its value. */
function keyOf(word: string): string {
  const letters = [...word.toLowerCase().normalize("NFKD")].filter((letter) => /[\p{L}\p{N}]/u.test(letter));
  return letters.map((letter) => (/[a-z0-9]/.test(letter) ? letter : letter.codePointAt(0)?.toString(16))).join("");
}

export function withArchived(conversation: Conversation, archived: boolean): Record<string, string> {
  const { [ARCHIVED]: _, ...others } = conversation.tags ?? {};
  return archived ? { ...others, [ARCHIVED]: PLAIN } : others;
}

/** Tags from what a person wrote: words. What another program keeps under a key stays there. */
export function withTags(conversation: Conversation, written: string): Record<string, string> {
  const tags: Record<string, string> = {};
  for (const word of written.split(/[\s,]+/)) {
    const key = keyOf(word);
    if (key === "" || key === ARCHIVED) continue;
    const before = conversation.tags?.[key];
    const isForeign = before !== undefined && before !== PLAIN && keyOf(before) !== key;
    tags[key] = isForeign ? before : word === key ? PLAIN : word;
  }
  return withArchived({ ...conversation, tags }, isArchived(conversation));
}
