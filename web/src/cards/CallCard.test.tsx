// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import type { Call, Result } from "../view";
import type { Fields, Status } from "../wire";
import { CallCard } from "./CallCard";

afterEach(cleanup);
let ids = 0;

function call(action: Fields & { kind: string }, observation: Fields | null, text = ""): Call {
  const id = `call-${++ids}`;
  const answer = { ...observation, kind: String(observation?.["kind"] ?? ""), content: [{ type: "text" as const, text }] };
  const result: Result | null = observation && { type: "answer", observation: answer };
  const event = { id, timestamp: "", source: "agent" as const, kind: "ActionEvent" as const, tool_name: "tool", tool_call_id: id };
  return { type: "call", id, time: "", risk: "UNKNOWN", result, event: { ...event, action } };
}
const show = (shown: Call, output?: string, status: Status = "running") =>
  render(<CallCard call={shown} folder="/work" output={output} status={status} />);

test("a command shows itself and how it ended; one that failed is open", () => {
  show(call({ kind: "TerminalAction", command: "make" }, { kind: "TerminalObservation", exit_code: 2 }, "no rule"));
  const head = screen.getByRole("button", { name: /make/ });
  expect(head.textContent).toContain("exit 2");
  expect(head.getAttribute("aria-expanded")).toBe("true");
  expect(document.body.textContent).toContain("no rule");
});

test("one that went well is opened by a click", () => {
  show(call({ kind: "TerminalAction", command: "ls" }, { kind: "TerminalObservation", exit_code: 0 }, "file.txt"));
  expect(document.body.textContent).not.toContain("file.txt");
  fireEvent.click(screen.getByRole("button", { name: /ls/ }));
  expect(document.body.textContent).toContain("file.txt");
});

test("an open command shows what it writes", () => {
  show(call({ kind: "TerminalAction", command: "make" }, null), "half done");
  expect(document.body.textContent).toContain("half done");
  expect(document.body.textContent).toContain("running");
});

test("a call that nobody has allowed yet says that it waits", () => {
  show(call({ kind: "TerminalAction", command: "make" }, null), undefined, "waiting_for_confirmation");
  expect(document.body.textContent).toContain("waits for you");
});

test("an edit shows its path from the folder, its counts and its lines", () => {
  const edited = { kind: "FileEditorObservation", path: "/work/a.txt", prev_exist: true, old_content: "a\n", new_content: "b\n" };
  show(call({ kind: "FileEditorAction", command: "str_replace", path: "/work/a.txt" }, edited));
  const head = screen.getByRole("button", { name: /a\.txt/ });
  expect(head.textContent).toContain("+1 −1");
  expect(head.textContent).not.toContain("/work/");
  expect(screen.getByRole("group", { name: /Differences/ })).toBeTruthy();
});

test("a search shows how many files it found", () => {
  show(call({ kind: "GrepAction", pattern: "TODO" }, { kind: "GrepObservation", matches: ["a:1", "b:2"] }, "a:1\nb:2"));
  expect(screen.getByRole("button", { name: /TODO/ }).textContent).toContain("2 files");
});

test("a plan shows its tasks", () => {
  const task_list = [{ title: "Look", notes: "", status: "done" }];
  show(call({ kind: "TaskTrackerAction", command: "plan", task_list }, { kind: "TaskTrackerObservation", task_list }));
  expect(screen.getByRole("listitem").textContent).toContain("Look");
  expect(screen.getByRole("img", { name: "done" })).toBeTruthy();
});

test("the end of a task shows what a critic thinks of it", () => {
  const end = call({ kind: "FinishAction", message: "Done." }, null);
  end.event.critic_result = { score: 0.85, message: "No test.\u202e" };
  show(end);
  expect(screen.getByRole("article").textContent).toContain("Critic: 85 % · No test.");
  expect(document.body.textContent).not.toContain("\u202e");
});

test("names and output stay text, without what turns text around", () => {
  const hostile = "<img src=x onerror=alert(1)>\u202e";
  show(call({ kind: "FileEditorAction", command: "view", path: `/work/${hostile}` }, { kind: "FileEditorObservation" }, hostile));
  fireEvent.click(screen.getByRole("button"));
  expect(document.querySelector("img")).toBeNull();
  expect(document.body.textContent).not.toContain("\u202e");
});
