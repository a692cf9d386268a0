import { expect, test } from "vitest";
import { ownTranscript } from "./terminal";

const entry = { command: "ls", folder: "/w", text: "a\nb\n", code: 0 };

test("a transcript only grows while a command writes", () => {
  const before = ownTranscript([{ ...entry, text: "a", code: null }]).replace(/\u001b\[0m\u001b\[\?25l\n$/, "");
  expect(ownTranscript([entry]).startsWith(before)).toBe(true);
});

test("what a command switched on ends with it, and a failure is told", () => {
  const text = ownTranscript([{ ...entry, text: "\u001b[31mred", code: 3 }, entry]);
  expect(text).toContain("\u001b[31mred\u001b[0m");
  expect(text).toContain("exit 3");
  expect(text.match(/exit/g)).toHaveLength(1);
});
