import { expect, test, vi } from "vitest";
import { allDecisions, type Decided, ruleFor } from "./allow";
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

test("decisions of the server and of this browser are one list, in which the server is right", () => {
  const what = (fingerprint: string) => ({ kind: "skill" as const, path: `${fingerprint}.md`, fingerprint });
  const made = (fingerprint: string, decision: "allow" | "deny"): Decided => ({ ...what(fingerprint), decision, conversation: "c" });
  const told = { undecided: [what("taken back")], decided: [{ ...what("elsewhere"), decision: "deny" as const }, { ...what("both"), decision: "deny" as const }] };
  const own = [made("both", "allow"), made("taken back", "allow"), { ...made("other project", "allow"), conversation: "d" }];
  const all = allDecisions(own, "c", told).map(({ fingerprint, decision, conversation }) => [fingerprint, decision, conversation]);
  expect(all).toEqual([
    ["elsewhere", "deny", "c"],
    ["both", "deny", "c"],
    ["other project", "allow", "d"],
  ]);
});
