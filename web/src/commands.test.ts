// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { offeredCommands } from "./commands";
import { useRewound } from "./rewinding";

test("only what would do something now is offered", () => {
  const names = (isBusy: boolean) => offeredCommands("c", isBusy).map(({ name }) => name);
  expect(names(false)).not.toContain("stop");
  expect(names(true)).toContain("stop");
  expect(names(false)).not.toContain("redo");
  useRewound.setState({ c: { checkpoint: null, leaf: "e1" } });
  expect(names(false)).toContain("redo");
});
