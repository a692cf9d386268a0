import { expect, test } from "vitest";
import { asMessage } from "./comments";

test("the agent is told where each remark belongs", () => {
  const message = asMessage([
    { path: "a.rs", line: 7, side: "new", code: "  let x = 1;", text: "Name it." },
    { path: "b.rs", line: 2, side: "old", code: "", text: "Why gone?" },
  ]);
  expect(message).toContain("a.rs:7\n> let x = 1;\nName it.");
  expect(message).toContain("b.rs:2 (before the change)\n> (empty line)\nWhy gone?");
});
