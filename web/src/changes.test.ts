import { expect, test } from "vitest";
import { changeOf, diffOf } from "./changes";

test("a diff counts its lines and numbers them", () => {
  const diff = diffOf({ path: "a", before: "one\ntwo\nthree\n", after: "one\n2\nthree\nfour\n" });
  expect(diff).toMatchObject({ added: 2, removed: 1 });
  expect(diff?.lines.map((line) => `${line.old ?? ""}|${line.new ?? ""}|${line.text}`)).toEqual([
    "1|1|one", "2||two", "|2|2", "3|3|three", "|4|four",
  ]);
});

test("a new file has nothing before, and a look at a file is no change", () => {
  const made = { kind: "FileEditorObservation", path: "a", prev_exist: false, new_content: "x" };
  expect(changeOf(made)).toEqual({ path: "a", before: null, after: "x" });
  expect(changeOf({ kind: "FileEditorObservation", path: "a", prev_exist: true })).toBeNull();
  expect(changeOf({ ...made, is_error: true })).toBeNull();
});

test("what is too much to compare is not compared", () => {
  expect(diffOf({ path: "a", before: "x".repeat(600_000), after: "y".repeat(600_000) })).toBeNull();
});
