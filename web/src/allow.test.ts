import { expect, test, vi } from "vitest";
import { ruleFor } from "./allow";
import type { Call } from "./view";

vi.mock("./ask", () => ({}));
vi.mock("./words", () => ({}));

const call = (action: object) => ({ event: { action } }) as Call;
const rule = (command: string) => ruleFor(call({ kind: "TerminalAction", command }));

test("a rule is the command with its first word, if that is a name", () => {
  expect(rule("git commit -m 'all done'")).toBe("git commit");
  expect(rule("cargo test")).toBe("cargo test");
  expect(rule("ls -la")).toBe("ls");
  expect(rule(" ./check.sh ")).toBe("./check.sh");
});

test("where no rule would cover it, none is offered", () => {
  for (const command of ["", "a; b", "a && b", "a | b", "a > f", "echo $(x)", "$CMD", "a\nb", "`x`"]) {
    expect(rule(command), command).toBeNull();
  }
  expect(ruleFor(call({ kind: "TerminalAction", command: "y", is_input: true }))).toBeNull();
  expect(ruleFor(call({ kind: "FileEditorAction", command: "view" }))).toBeNull();
});
