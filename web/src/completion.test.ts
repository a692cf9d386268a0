import { expect, test } from "vitest";
import { completed, ranked, wordAt } from "./completion";

test.each([
  ["look at @src/ma", { kind: "file", name: "src/ma", start: 8 }],
  ["@", { kind: "file", name: "", start: 0 }],
  ["/co", { kind: "command", name: "co", start: 0 }],
  ["/my-skill:de", { kind: "command", name: "my-skill:de", start: 0 }],
  ["/model ", { kind: "model", name: "", start: 7 }],
  ["/model fa", { kind: "model", name: "fa", start: 7 }],
  ["/models fa", null],
  ["/model fast and", null],
  ["mail me@example", null],
  ["a /co", null],
  ["@file and", null],
])("%s", (text, expected) => {
  expect(wordAt(text, text.length)).toEqual(expected);
});

test("a choice takes the place of what was written, and the rest stays", () => {
  const text = "see @ma please";
  const word = wordAt(text, 7);
  expect(word && completed(text, 7, word, "main.rs")).toEqual({ text: "see @main.rs  please", caret: 13 });
});

test("the model of a command is completed behind it", () => {
  const word = wordAt("/model fa", 9);
  expect(word && completed("/model fa", 9, word, "fast")).toEqual({ text: "/model fast ", caret: 12 });
});

test("names are found by some of their letters, the nearest first", () => {
  const choices = ["changes", "stop", "compact", "context"].map((name) => ({ name }));
  const found = (written: string) => ranked(choices, written).map(({ name }) => name);
  expect(found("co")).toEqual(["compact", "context"]);
  expect(found("top")).toEqual(["stop"]);
  expect(found("cpt")).toEqual(["compact"]);
  expect(found("zz")).toEqual([]);
  expect(found("")).toHaveLength(4);
});
