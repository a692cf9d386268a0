import { expect, test } from "vitest";
import { endingOf } from "./ending";

test.each([
  ["src/App.TSX", "tsx"],
  ["a.b/Makefile", "makefile"],
  [".gitignore", "gitignore"],
  ["notes.", ""],
])("%s is known by %s", (path, ending) => expect(endingOf(path)).toBe(ending));
