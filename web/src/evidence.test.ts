import { expect, test } from "vitest";
import { evidenceOf } from "./evidence";
import type { Item, Result } from "./view";
import type { ActionEvent } from "./wire";

let next = 0;
const call = (action: object, observation: object): Item => ({
  type: "call",
  id: String(next++),
  time: "",
  risk: "LOW",
  event: { tool_name: "x", tool_call_id: "c", action } as unknown as ActionEvent,
  result: { type: "answer", observation: { content: [], ...observation } } as unknown as Result,
});
const edit = () => call({ kind: "FileEditorAction" }, { kind: "FileEditorObservation", path: "/a", old_content: "a", new_content: "b" });
const command = (command: string, exit_code = 0) => call({ kind: "TerminalAction", command }, { kind: "TerminalObservation", exit_code });
const said = (from: "user" | "agent"): Item => ({ type: "message", id: String(next++), time: "", from, text: "x", images: [] });

test("the last command after the last change is the evidence, with its exit code", () => {
  const items = [said("user"), command("make lint"), edit(), command("make test", 2), command("make test"), said("agent")];
  expect(evidenceOf(items)).toEqual({ type: "command", command: "make test", code: 0, isPart: false });
  expect(evidenceOf([...items, edit(), said("agent")])).toEqual({ type: "none" });
});

test("of a pipe only the last program is vouched for", () => {
  expect(evidenceOf([said("user"), edit(), command("make test | tail -4")])).toMatchObject({ isPart: true });
  expect(evidenceOf([said("user"), edit(), command("make a || make b")])).toMatchObject({ isPart: false });
});

test("to look at something proves nothing", () => {
  expect(evidenceOf([said("user"), edit(), command("cat a.txt && git diff"), command("ls -la | head")])).toEqual({ type: "none" });
  expect(evidenceOf([said("user"), edit(), command("cd web && npm test")])).toMatchObject({ command: "cd web && npm test" });
});

test("a plan needs no proof", () => {
  const plan = call({ kind: "PlanningFileEditorAction" }, { path: "/PLAN.md", prev_exist: false, new_content: "1. Look" });
  expect(evidenceOf([said("user"), plan, said("agent")])).toBeNull();
});

test("where a turn changed nothing there is nothing to prove", () => {
  expect(evidenceOf([said("user"), edit(), said("agent"), said("user"), command("make test"), said("agent")])).toBeNull();
  expect(evidenceOf([])).toBeNull();
});

test("where a sub-agent or a browser may have tried it, nothing is claimed", () => {
  const task = call({ kind: "TaskAction" }, { kind: "TaskObservation" });
  expect(evidenceOf([said("user"), edit(), task, said("agent")])).toBeNull();
  expect(evidenceOf([said("user"), edit(), task, command("make test"), command("ls"), said("agent")])).toMatchObject({ command: "make test" });
});
