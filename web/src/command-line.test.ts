import { expect, test } from "vitest";
import { lineOf, wordsOf } from "./command-line";

test.each([
  ["npx -y server .", ["npx", "-y", "server", "."]],
  ['sh -c "echo hi there"', ["sh", "-c", "echo hi there"]],
  ["a 'b \"c\"' d\\ e ''", ["a", 'b "c"', "d e", ""]],
  ['"say \\"hi\\"" $HOME', ['say "hi"', "$HOME"]],
  ["'it'\\''s'", ["it's"]],
  ["  ", []],
])("%s", (line, words) => {
  expect(wordsOf(line)).toEqual(words);
  expect(wordsOf(lineOf(words))).toEqual(words);
});

test("a quote that is not closed is no line", () => expect(wordsOf("sh -c 'echo")).toBeNull());
