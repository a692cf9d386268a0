// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { api } from "../api";
import type { Call } from "../view";
import { Confirm } from "./Confirm";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});
const call: Call = {
  type: "call",
  id: "a",
  time: "",
  risk: "HIGH",
  why: "It removes files.",
  result: null,
  event: {
    id: "a",
    timestamp: "",
    source: "agent",
    kind: "ActionEvent",
    tool_name: "terminal",
    tool_call_id: "c",
    action: { kind: "TerminalAction", command: "rm -r build" },
    tool_call: { arguments: '{"command":"rm -r build"}' },
  } as Call["event"],
};

function show(action = call.event.action ?? null) {
  const answer = vi.spyOn(api, "answer").mockResolvedValue();
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Confirm id="x" folder="/work" calls={[{ ...call, event: { ...call.event, action } }]} />
    </QueryClientProvider>,
  );
  return answer;
}

test("what waits is shown whole, with its risk and why", () => {
  show();
  const region = screen.getByRole("region", { name: "Waiting for you" });
  expect(region.textContent).toContain("rm -r build");
  expect(region.textContent).toContain("It removes files.");
});

test.each([
  [{ kind: "TerminalAction", command: "touch HIDDEN #\recho hi" }, "touch HIDDEN #␍echo hi"],
  [{ kind: "TerminalAction", command: "rm -r x #\u001b]0;" }, "rm -r x #␛]0;"],
  [{ kind: "WriteFileAction", file_path: "a", content: "rm x #\recho hi\r\nend" }, "+rm x #␍echo hi\n+end"],
  [{ kind: "ApplyPatchAction", patch: "+rm x #\recho hi" }, "+rm x #␍echo hi"],
  [{ kind: "TaskAction", description: "Greet", prompt: "Say hi. <!-- rm x -->\u001b]0;" }, "Say hi. <!-- rm x -->␛]0;"],
  [{ kind: "DelegateAction", tasks: { ann: "Say hi. <!-- rm x -->" } }, "Say hi. <!-- rm x -->"],
])("nothing of %j is hidden from who is asked", (action, shown) => {
  show(action);
  expect(screen.getByRole("list", { name: "Actions" }).textContent).toContain(shown);
});

test.each([
  ["/work/src/a.ts", "src/a.ts"],
  ["/etc/passwd", "/etc/passwd"],
])("the file %s is named as it is from where the agent works", (path, shown) => {
  show({ kind: "WriteFileAction", file_path: path, content: "x" });
  expect(screen.getByRole("list", { name: "Actions" }).querySelector(".card-title")?.textContent).toBe(shown);
});

test("it is allowed by the button or by keys, but not by keys from where a reason is written", async () => {
  const answer = show();
  fireEvent.keyDown(screen.getByLabelText("Why not, for the agent"), { key: "Enter", ctrlKey: true });
  expect(answer).not.toHaveBeenCalled();
  fireEvent.click(screen.getByRole("button", { name: "Allow" }));
  await waitFor(() => expect(answer).toHaveBeenCalledWith("x", [{ action_id: "a", answer: "approve" }]));
});

test("it is rejected with the reason", async () => {
  const answer = show();
  fireEvent.change(screen.getByLabelText("Why not, for the agent"), { target: { value: "Keep it." } });
  fireEvent.click(screen.getByRole("button", { name: "Reject" }));
  await waitFor(() => expect(answer).toHaveBeenCalledWith("x", [{ action_id: "a", answer: "reject", reason: "Keep it." }]));
});

test("it runs as changed", async () => {
  const answer = show();
  fireEvent.click(screen.getByRole("button", { name: "Edit" }));
  fireEvent.change(screen.getByLabelText("The action, changed"), { target: { value: "rm -r out" } });
  fireEvent.click(screen.getByRole("button", { name: "Run as changed" }));
  await waitFor(() =>
    expect(answer).toHaveBeenCalledWith("x", [{ action_id: "a", answer: "edit", arguments: { command: "rm -r out" } }]),
  );
});

test("Enter behind the reason rejects with it", async () => {
  const answer = show();
  const field = screen.getByLabelText("Why not, for the agent");
  fireEvent.change(field, { target: { value: "Not today." } });
  fireEvent.keyDown(field, { key: "Enter" });
  await waitFor(() => expect(answer).toHaveBeenCalledWith("x", [{ action_id: "a", answer: "reject", reason: "Not today." }]));
});

test("of several actions only the chosen ones run", async () => {
  const answer = vi.spyOn(api, "answer").mockResolvedValue();
  const other = { ...call, id: "b", event: { ...call.event, id: "b", action: { kind: "TerminalAction", command: "ls" } } } as Call;
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Confirm id="x" folder="/work" calls={[call, other]} />
    </QueryClientProvider>,
  );
  const first = screen.getByRole("checkbox", { name: "Allow this: rm -r build" });
  fireEvent.click(first);
  fireEvent.click(screen.getByRole("checkbox", { name: "Allow this: ls" }));
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Allow the chosen ones" }).disabled).toBe(true);
  fireEvent.click(screen.getByRole("checkbox", { name: "Allow this: ls" }));
  fireEvent.change(screen.getByLabelText("Why not, for the agent"), { target: { value: "Keep it." } });
  fireEvent.keyDown(first, { key: "Enter", ctrlKey: true });
  const answers = [
    { action_id: "a", answer: "reject", reason: "Keep it." },
    { action_id: "b", answer: "approve" },
  ];
  await waitFor(() => expect(answer).toHaveBeenCalledWith("x", answers));
});
