import { expect, test } from "vitest";
import { runsOf } from "./ansi";

test("colours become classes, and everything else that steers a terminal is gone", () => {
  const runs = runsOf("\u001b[31mred\u001b[0m \u001b]0;title\u0007<b>\u001b[2J");
  expect(runs[0]).toEqual({ text: "red", className: "ansi-red" });
  expect(runs.map((run) => run.text).join("")).toBe("red <b>");
});
