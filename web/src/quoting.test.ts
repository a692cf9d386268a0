import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { commitCommand, quoted } from "./quoting";

const bash = (command: string) => execFileSync("bash", ["-c", command], { encoding: "utf8" });

test("a text is one word of a shell, whatever it says", () => {
  const text = "it's $(echo `hacked`) \"\n; rm";
  expect(bash(`printf %s ${quoted(text)}`)).toBe(text);
  expect(commitCommand("it's")).toContain("'it'\\''s'");
});
