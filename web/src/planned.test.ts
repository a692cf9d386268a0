import { expect, test } from "vitest";
import { plannedLines } from "./planned";

test("every tool that edits shows what it would change before it does", () => {
  expect(plannedLines({ kind: "EditAction", file_path: "a", old_string: "x\ny", new_string: "z" })).toBe("-x\n-y\n+z");
  expect(plannedLines({ kind: "WriteFileAction", file_path: "a", content: "rm -rf /\n" })).toBe("+rm -rf /");
  expect(plannedLines({ kind: "FileEditorAction", path: "a", old_str: "x", new_str: "" })).toBe("-x");
  expect(plannedLines({ kind: "FileEditorAction", path: "a", file_text: "one\n\ntwo" })).toBe("+one\n+\n+two");
  expect(plannedLines({ kind: "WriteFileAction", file_path: "a", content: "# fine\rrm x" })).toBe("+# fine\rrm x");
});
