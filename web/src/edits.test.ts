import { expect, test } from "vitest";
import { editable, edited } from "./edits";
import type { Call } from "./view";

const call = (kind: string, sent: object) =>
  ({ event: { action: { kind }, tool_call: { arguments: JSON.stringify(sent) } } }) as unknown as Call;

test("of a command only the command is edited; what stands beside it stays", () => {
  const command = call("TerminalAction", { command: "rm -r x", timeout: 5 });
  expect(editable(command)).toBe("rm -r x");
  expect(edited(command, "ls")).toEqual({ command: "ls", timeout: 5 });
});

test("of other calls all arguments are edited, and what is no JSON is refused", () => {
  const edit = call("FileEditorAction", { path: "/a" });
  expect(JSON.parse(editable(edit))).toEqual({ path: "/a" });
  expect(edited(edit, '{"path": "/b"}')).toEqual({ path: "/b" });
  expect(() => edited(edit, "{")).toThrow();
});
