import { expect, test } from "vitest";
import { delegatesOf } from "./delegates";

test("the agents of a call are those that begin, with their kinds, or those that are given tasks", () => {
  expect(delegatesOf({ command: "spawn", ids: ["ann", "bob"], agent_types: ["explorer"] })).toEqual([
    { name: "ann", task: "", kind: "explorer" },
    { name: "bob", task: "", kind: "" },
  ]);
  expect(delegatesOf({ command: "delegate", tasks: { ann: "Count.", bob: "Read." } })).toEqual([
    { name: "ann", task: "Count.", kind: "" },
    { name: "bob", task: "Read.", kind: "" },
  ]);
  expect(delegatesOf({ command: "spawn", ids: "not a list" })).toEqual([]);
});
