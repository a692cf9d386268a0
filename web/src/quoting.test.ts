import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { commitCommand, quoted, unwrapped, unwrappedCommand, wrapped } from "./quoting";

const bash = (command: string) => execFileSync("bash", ["-c", command], { encoding: "utf8" });

test("a command tells the folder it ends in, and its own output stays as it is", () => {
  const { text, folder } = unwrapped(bash(wrapped("/", "cd /usr; echo hello")));
  expect([text, folder]).toEqual(["hello\n", "/usr"]);
  expect(unwrapped("not ended yet")).toEqual({ text: "not ended yet", folder: null });
});

test("the code of a command is kept", () => {
  expect(() => bash(wrapped("/", "false"))).toThrow();
});

test("a text is one word of a shell, whatever it says", () => {
  const text = "it's $(echo `hacked`) \"\n; rm";
  expect(bash(`printf %s ${quoted(text)}`)).toBe(text);
  expect(commitCommand("it's")).toContain("'it'\\''s'");
});

test("what was wrapped is found again, and nothing else is taken for it", () => {
  const wish = { folder: "/it's here", command: "echo one\necho two" };
  expect(unwrappedCommand(wrapped(wish.folder, wish.command))).toEqual(wish);
  expect(unwrappedCommand("git status")).toBeNull();
});
