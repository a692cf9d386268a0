import { expect, test } from "vitest";
import { Tree } from "./tree";

function line(...ids: string[]): Tree {
  const tree = new Tree();
  ids.forEach((id, index) => tree.add(id, ids[index - 1]));
  return tree;
}

test("a log that never turned is shown whole", () => {
  expect(line("a", "b", "c").way()).toBeNull();
});

test("where the conversation stands decides what is shown, and what is said next follows it", () => {
  const tree = line("a", "b", "c");
  expect(tree.move("a")).toBe(true);
  expect([...(tree.way() ?? [])]).toEqual(["a"]);
  expect(tree.add("d", "a")).toBe(true);
  expect([...(tree.way() ?? [])]).toEqual(["d", "a"]);
  expect([tree.leafOf("b"), tree.standing]).toEqual(["c", "d"]);
  expect(tree.parent("d")).toBe("a");
});

test("standing before the first event shows nothing, and standing at the end is no news", () => {
  const tree = line("a", "b");
  expect(tree.move("b")).toBe(false);
  expect(tree.way()).toBeNull();
  expect(tree.move(null)).toBe(true);
  expect(tree.way()?.size).toBe(0);
});

test("the way goes on in pages that are loaded later", () => {
  const tree = new Tree();
  tree.add("c", "b");
  tree.move("a");
  expect([tree.way()?.size, tree.standsElsewhere]).toEqual([0, true]);
  tree.prepend(line("a", "b"));
  expect([...(tree.way() ?? [])]).toEqual(["a"]);
});

test("old logs name no parents: each event follows the one before", () => {
  const tree = new Tree();
  for (const id of ["a", "b", "c"]) tree.add(id, undefined);
  tree.move("b");
  expect([...(tree.way() ?? [])]).toEqual(["b", "a"]);
});

test("what is forgotten can come again", () => {
  const tree = line("a", "b", "c");
  tree.forgetBefore("c");
  expect(tree.has("a")).toBe(false);
  tree.prepend(line("a", "b"));
  expect(tree.has("a")).toBe(true);
  expect(tree.way()).toBeNull();
});
