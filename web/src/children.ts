// Conversations of sub-agents: found from the task that they do, and shown beneath the one that gave it to them.

import type { Conversation } from "./wire";

/** The conversation of a task, whose name ends with the beginning of that conversation's id. */
export function childOf(task: string, children: readonly string[]): string | null {
  const [, start] = /^(?:task_)?([0-9a-f]{8,32})$/.exec(task.replaceAll("-", "")) ?? [];
  return (start && children.find((child) => child.replaceAll("-", "").startsWith(start))) || null;
}

/** Each conversation that stands by itself, and those beneath it. One whose parent is not there stands by itself. */
export function nested(all: readonly Conversation[]): { conversation: Conversation; children: Conversation[] }[] {
  const ids = new Set(all.map(({ id }) => id));
  const parent = ({ parent_conversation_id: parent }: Conversation) => (parent && ids.has(parent) ? parent : null);
  return all
    .filter((conversation) => !parent(conversation))
    .map((conversation) => ({ conversation, children: below(conversation.id) }));

  function below(id: string): Conversation[] {
    return all.filter((each) => parent(each) === id).flatMap((child) => [child, ...below(child.id)]);
  }
}
