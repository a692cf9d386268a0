import { expect, test } from "vitest";
import { childOf, nested } from "./children";
import type { Conversation } from "./wire";

test("the conversation of a task is found by the beginning of its id", () => {
  const children = ["11111111-2222-3333-4444-555555555555", "2c78a2b1-0000-0000-0000-000000000000"];
  expect(childOf("task_2c78a2b1", children)).toBe(children[1]);
  expect(childOf("11111111-2222-3333-4444-555555555555", children)).toBe(children[0]);
  expect(childOf("unknown", children)).toBeNull();
  expect(childOf("task_", children)).toBeNull();
});

test("sub-agents stand beneath the conversation that they work for", () => {
  const one = (id: string, parent?: string) => ({ id, parent_conversation_id: parent }) as Conversation;
  const shown = nested([one("c", "b"), one("b", "a"), one("a"), one("d", "gone")]);
  expect(shown.map(({ conversation, children }) => [conversation.id, children.map(({ id }) => id)])).toEqual([
    ["a", ["b", "c"]],
    ["d", []],
  ]);
});
