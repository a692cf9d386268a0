import { expect, test } from "vitest";
import { changeOf, type Change, changesOf, diffOf, noteChange, noteEarlier, sideBySide, withoutHunk, withEarlier } from "./changes";

test("a diff counts its lines and numbers them", () => {
  const diff = diffOf({ path: "a", before: "one\ntwo\nthree\n", after: "one\n2\nthree\nfour\n" });
  expect(diff).toMatchObject({ added: 2, removed: 1 });
  expect(diff?.lines.map((line) => `${line.old ?? ""}|${line.new ?? ""}|${line.text}`)).toEqual([
    "||line 1", "1|1|one", "2||two", "|2|2", "3|3|three", "|4|four",
  ]);
});

test("a new file has nothing before, and a look at a file is no change", () => {
  const made = { kind: "FileEditorObservation", path: "a", prev_exist: false, new_content: "x" };
  expect(changeOf(made)).toEqual({ path: "a", before: null, after: "x" });
  expect(changeOf({ kind: "FileEditorObservation", path: "a", prev_exist: true })).toBeNull();
  expect(changeOf({ ...made, is_error: true })).toBeNull();
});

test("a patch tells what became of each file, and a file that came and went is no change", () => {
  const patched = (changes: object) => ({ kind: "ApplyPatchObservation", commit: { changes } });
  const made = patched({
    a: { type: "add", old_content: null, new_content: "x", move_path: null },
    b: { type: "delete", old_content: "y", new_content: null, move_path: null },
    c: { type: "update", old_content: "z", new_content: "zz", move_path: "d" },
  });
  expect(changesOf(made)).toEqual([
    { path: "a", before: null, after: "x" },
    { path: "b", before: "y", after: null },
    { path: "c", before: "z", after: null },
    { path: "d", before: null, after: "zz" },
  ]);
  const changes = new Map<string, Change>();
  noteChange(changes, made);
  noteChange(changes, patched({ a: { type: "delete", old_content: "x", new_content: null } }));
  expect([...changes.keys()]).toEqual(["b", "c", "d"]);
  expect(diffOf({ path: "b", before: "y\n", after: null })).toMatchObject({ added: 0, removed: 1 });
  expect(changesOf({ kind: "ApplyPatchObservation", is_error: true })).toEqual([]);
});

test("what is too much to compare is not compared", () => {
  expect(diffOf({ path: "a", before: "x".repeat(600_000), after: "y".repeat(600_000) })).toBeNull();
});

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`);

test("one difference of several is taken back, and the others stay", () => {
  const before = numbered(40);
  const after = before.with(2, "first\n").with(30, "second\n");
  const change = { path: "f", before: before.join(""), after: after.join("") };
  expect(withoutHunk(change, 0, change.after)).toBe(before.with(30, "second\n").join(""));
  expect(withoutHunk(change, 1, change.after)).toBe(before.with(2, "first\n").join(""));
  expect(withoutHunk(change, 0, "something else\n"), "the file is another one by now").toBeNull();
  expect(withoutHunk(change, 7, change.after)).toBeNull();
});

test("what was removed stands beside what came in its place", () => {
  const diff = diffOf({ path: "f", before: "a\nb\nc\n", after: "a\nx\ny\nc\n" });
  const rows = sideBySide(diff?.lines ?? []).map(({ left, right }) => [left?.text, right?.text]);
  expect(rows.slice(1)).toEqual([
    ["a", "a"],
    ["b", "x"],
    [undefined, "y"],
    ["c", "c"],
  ]);
});

test("a change is known from its first state even if that is loaded last", () => {
  const changes = new Map([["f", { path: "f", before: "two", after: "three" }]]);
  noteEarlier(changes, new Map([["f", { path: "f", before: null, after: "two" }]]));
  expect(changes.get("f")).toEqual({ path: "f", before: null, after: "three" });
});

test("changes from before what is loaded begin earlier, and what came back is none", () => {
  const answer = (path: string, before: string, after: string) => ({
    observation: { kind: "FileEditorObservation", path, prev_exist: true, old_content: before, new_content: after },
  });
  const loaded = [
    { path: "/a", before: "two", after: "three" },
    { path: "/b", before: "new", after: "old" },
  ];
  const earlier = [answer("/a", "one", "two"), answer("/b", "old", "new"), answer("/c", "x", "y")];
  expect(withEarlier(loaded, earlier)).toEqual([
    { path: "/a", before: "one", after: "three" },
    { path: "/c", before: "x", after: "y" },
  ]);
  expect(withEarlier(loaded, [...earlier, answer("/a", "two", "three")])[0]).toEqual({ path: "/a", before: "one", after: "three" });
});
