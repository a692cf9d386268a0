import { expect, test } from "vitest";
import { type Call, EMPTY, isThinking, type View } from "./view";

const call = (result: Call["result"]) => ({ type: "call", id: "a", time: "", event: {}, risk: "LOW", result }) as Call;
const answered = { type: "answer", observation: { kind: "x" } } as Call["result"];
const running: View = { ...EMPTY, isCurrent: true, status: "running", items: [call(answered)] };

test("the model is awaited while it works and nothing else tells what it does", () => {
  expect(isThinking(running)).toBe(true);
  expect(isThinking({ ...running, status: "finished" })).toBe(false);
  expect(isThinking({ ...running, isCurrent: false })).toBe(false);
  expect(isThinking({ ...running, preparing: "pulling" })).toBe(false);
  expect(isThinking({ ...running, items: [call(null), call(answered)] }), "one of several calls still runs").toBe(false);
});
