import { expect, test } from "vitest";
import { patchCounts, patchedFiles, patchParts } from "./patch";

const PATCH = `*** Begin Patch
*** Update File: src/a.ts
@@ f
 same
-old
+new
+more
*** Add File: b.txt
+one
*** Delete File: c
*** End Patch`;

test("a patch tells its files and how many lines it changes", () => {
  expect(patchedFiles(PATCH)).toEqual(["src/a.ts", "b.txt", "c"]);
  expect(patchedFiles("*** Delete File: a\rb")).toEqual(["a\rb"]);
  expect(patchCounts(PATCH)).toEqual({ added: 3, removed: 1 });
});

test("a patch is shown file by file, and nothing of it is left out but its first and last words", () => {
  const parts = patchParts(PATCH);
  expect(parts.map(({ path }) => path)).toEqual(["src/a.ts", "b.txt", "c"]);
  expect(parts.map(({ text }) => text).join("")).toBe(PATCH.replace("*** Begin Patch\n", "").replace("*** End Patch", ""));
  expect(patchParts("no patch\n+at all")).toEqual([{ path: "", text: "no patch\n+at all" }]);
});
