// What a conversation is called, and how it is sorted away.

import { visibleControls } from "./plain";
import type { Conversation } from "./wire";

/** Models write titles, so nothing in one may turn around what stands beside it. */
export const nameOf = (conversation: Conversation) =>
  visibleControls(conversation.title?.trim() || conversation.workspace.working_dir.split("/").at(-1) || "Conversation");

/** The tag of those that are put away. */
const ARCHIVED = "archived";

export const isArchived = ({ tags }: Conversation) => ARCHIVED in (tags ?? {});

/** The tags a person gave. */
export const tagsOf = ({ tags }: Conversation) => Object.keys(tags ?? {}).filter((tag) => tag !== ARCHIVED);

export function withArchived(conversation: Conversation, archived: boolean): Record<string, string> {
  const { [ARCHIVED]: _, ...others } = conversation.tags ?? {};
  return archived ? { ...others, [ARCHIVED]: "yes" } : others;
}

/** Tags from what a person wrote: words, of which small letters and digits are kept. */
export function withTags(conversation: Conversation, written: string): Record<string, string> {
  const words = written.toLowerCase().split(/[\s,]+/).map((word) => word.replace(/[^a-z0-9]/g, ""));
  const named = words.filter((word) => word !== "" && word !== ARCHIVED).map((word) => [word, conversation.tags?.[word] ?? "yes"]);
  return withArchived({ ...conversation, tags: Object.fromEntries(named) as Record<string, string> }, isArchived(conversation));
}
