// @vitest-environment happy-dom
import { expect, test, vi } from "vitest";
import { commandOf, offeredCommands } from "./commands";
import { useRewound } from "./rewinding";

test("only what would do something now is offered", () => {
  const names = (isBusy: boolean) => offeredCommands("c", isBusy).map(({ name }) => name);
  expect(names(false)).not.toContain("stop");
  expect(names(true)).toContain("stop");
  expect(names(false)).not.toContain("redo");
  useRewound.setState({ c: { checkpoint: null, leaf: "e1" } });
  expect(names(false)).toContain("redo");
});

test.each(["ask", "model"])("/%s without words says what to write, and asks the server for nothing", async (name) => {
  const answered = vi.fn();
  vi.stubGlobal("fetch", answered);
  await expect(commandOf(`/${name} `)?.command.run("c", " ")).rejects.toThrow("behind it");
  expect(answered).not.toHaveBeenCalled();
  vi.unstubAllGlobals();
});

test("/goal without words says what to write where there is no goal to go on with", async () => {
  vi.stubGlobal("fetch", async () => new Response('{"detail":"no_resumable_goal"}', { status: 400 }));
  await expect(commandOf("/goal")?.command.run("c", "")).rejects.toThrow("There is no goal");
  vi.unstubAllGlobals();
});
