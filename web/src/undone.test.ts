// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from "vitest";
import { Refused } from "./ask";
import { undone, without } from "./undone";
import { workspace } from "./workspace";

afterEach(() => vi.restoreAllMocks());

const made = { path: "/w/made", before: null, after: "new" };
const edited = { path: "/w/edited", before: "old", after: "new" };

/** What is in the workspace; null: no text, an error: it cannot be read. */
function files(now: Record<string, string | null | Error>) {
  vi.spyOn(workspace, "readText").mockImplementation(async (_, path) => {
    const content = now[path] ?? null;
    if (content instanceof Error) throw content;
    return content;
  });
}

test("a file that is gone again or has its old content is not changed any more", async () => {
  files({ "/w/made": new Refused("File not found", 404), "/w/edited": "old" });
  expect(await undone("c", [made, edited])).toEqual([made, edited]);
});

test("what is there, is no text or cannot be read stays changed", async () => {
  files({ "/w/made": null, "/w/edited": "other" });
  expect(await undone("c", [made, edited])).toEqual([]);
  files({ "/w/made": new Refused("The workspace is gone", 503), "/w/edited": new Refused("File not found", 404) });
  expect(await undone("c", [made, edited])).toEqual([]);
});

test("what is changed anew after it was taken back is listed again", () => {
  expect(without([made, edited], [edited])).toEqual([made]);
  expect(without([{ ...edited, after: "newer" }], [edited])).toEqual([{ ...edited, after: "newer" }]);
});
