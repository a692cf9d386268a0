import { expect, test } from "vitest";
import { patchCounts, patchedFiles } from "./patch";

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
