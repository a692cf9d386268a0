import { expect, test } from "vitest";
import { type Context, sharesOf, stepOf } from "./context";
import { type Call, EMPTY, type View } from "./view";

test("kinds come in the order of the request, with their shares, and those that are not there are left out", () => {
  const context: Context = {
    entries: [],
    earlier: { entries: 0, tokens: 0 },
    kinds: { results: 50, prompt: 30, summary: 20 },
    tokens: 100,
    tools: [],
    window: null,
    reserve: null,
  };
  expect(sharesOf(context)).toEqual([
    { kind: "prompt", tokens: 30, share: 0.3 },
    { kind: "summary", tokens: 20, share: 0.2 },
    { kind: "results", tokens: 50, share: 0.5 },
  ]);
});

test("a step has ended when none of its calls is open any more", () => {
  const call = (id: string, result: Call["result"]) => ({ type: "call", id, result }) as Call;
  const view = (items: Call[], status: View["status"] = "running"): View => ({ ...EMPTY, status, items });
  const done = call("first", { type: "rejected", reason: "no" });
  expect(stepOf(EMPTY)).toBe("");
  expect(stepOf(view([done]))).toBe("first");
  expect(stepOf(view([done, call("second", null)]))).toBeNull();
  expect(stepOf(view([done, call("second", null)], "waiting_for_confirmation"))).toBe("second");
});
