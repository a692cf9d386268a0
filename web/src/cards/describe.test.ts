import { expect, test } from "vitest";
import type { Call } from "../view";
import type { Fields } from "../wire";
import { describe } from "./describe";

const call = (tool_name: string, action: Fields, summary?: string) =>
  ({ type: "call", id: "a", event: { tool_name, tool_call_id: "c", action, summary }, result: null }) as unknown as Call;

test.each([
  ["apply_patch", { kind: "ApplyPatchAction", patch: "*** Update File: a.ts\n*** Add File: b.ts" }, "a.ts, b.ts"],
  ["fetch", { kind: "MCPToolAction", data: { url: "https://example.org" } }, "https://example.org"],
  ["code", { kind: "MCPToolAction", data: { command: "definition", path: "/w/a.rs", symbol: "run" } }, "definition run a.rs"],
  ["browser_click", { kind: "BrowserClickAction", index: 3 }, "click element 3"],
  ["browser_navigate", { kind: "BrowserNavigateAction", url: "http://localhost" }, "http://localhost"],
  ["invoke_skill", { kind: "InvokeSkillAction", name: "release" }, "release"],
  ["grep", { kind: "GrepAction", pattern: "key\n=", path: "/etc/ssh", include: "*.conf" }, "key␊= *.conf /etc/ssh"],
  ["grep", { kind: "GrepAction", pattern: "key", path: "/w" }, "key"],
  ["glob", { kind: "GlobAction", pattern: "*.ts", path: "/w/src" }, "*.ts src"],
  ["other", { kind: "MCPToolAction", data: { query: "cats" } }, "cats"],
])("a card says what %s is about, and not its arguments as JSON", (tool, action, title) => {
  expect(describe(call(tool, action, `${tool}: {"raw": true}`), "/w").title).toBe(title);
});

test("a tool that is not ours is described in the model's words", () => {
  expect(describe(call("other", { kind: "MCPToolAction", data: { query: "cats" } }, "Look for cats")).title).toBe("Look for cats");
});

test("nothing of what is done is hidden by control characters", () => {
  const title = (action: Fields) => describe(call("any", action)).title;
  expect(title({ kind: "TerminalAction", command: "touch HIDDEN #\recho hi" })).toBe("touch HIDDEN #␍echo hi");
  expect(title({ kind: "WriteFileAction", file_path: "a\n/../b" })).toBe("a␊/../b");
  expect(title({ kind: "ApplyPatchAction", patch: "*** Delete File: a\u001b]b" })).toBe("a␛]b");
});
