import { expect, test } from "vitest";
import { stepTo } from "./steps";

test.each([
  ["ArrowDown", 0, 1],
  ["ArrowRight", 2, 0],
  ["ArrowUp", 0, 2],
  ["ArrowLeft", 2, 1],
  ["Home", 2, 0],
  ["End", 0, 2],
  ["x", 1, null],
])("%s leads from %i to %s", (key, from, to) => expect(stepTo(key, from, 3)).toBe(to));
