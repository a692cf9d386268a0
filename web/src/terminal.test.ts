import { expect, test } from "vitest";
import { agentTranscript } from "./terminal";
import type { Answered } from "./told";
import type { Call } from "./view";

const base = { timestamp: "2026-01-01T00:00:00" };
const call = (id: string, command: string, text: string | null, code = 0): Call => ({
  type: "call",
  id,
  time: base.timestamp,
  risk: "UNKNOWN",
  event: {
    ...base,
    id,
    source: "agent",
    kind: "ActionEvent",
    tool_name: "terminal",
    tool_call_id: `call-${id}`,
    action: { kind: "TerminalAction", command },
  },
  result:
    text === null
      ? null
      : { type: "answer", observation: { kind: "TerminalObservation", exit_code: code, content: [{ type: "text", text }] } },
});
const told = (id: string, command: string, text: string): Answered => ({
  ...base,
  id: `answer-${id}`,
  source: "environment",
  kind: "ObservationEvent",
  action_id: id,
  tool_call_id: `call-${id}`,
  observation: { kind: "TerminalObservation", command, exit_code: 0, content: [{ type: "text", text }] },
});

test("a transcript only grows while a command writes", () => {
  const before = agentTranscript({ items: [call("a", "ls", null)], output: { a: "a" } });
  const after = agentTranscript({ items: [call("a", "ls", "a\nb\n")], output: {} });
  expect(after.startsWith(before.replace(/\u001b\[0m\u001b\[\?25l\n$/, ""))).toBe(true);
});

test("what a command switched on ends with it, and a failure is told", () => {
  const text = agentTranscript({ items: [call("a", "ls", "\u001b[31mred", 3), call("b", "ls", "fine")], output: {} });
  expect(text).toContain("\u001b[31mred\u001b[0m");
  expect(text).toContain("exit 3");
  expect(text.match(/exit/g)).toHaveLength(1);
});

test("commands from before what is loaded come first, and none of them twice", () => {
  const items = [call("b", "second", "two")];
  const text = agentTranscript({ items, output: {} }, [told("a", "first", "one"), told("b", "second", "two")]);
  expect(text.indexOf("first")).toBeLessThan(text.indexOf("second"));
  expect(text.match(/second/g)).toHaveLength(1);
});
