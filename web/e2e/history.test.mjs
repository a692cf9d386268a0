// What was said and done before: gone through step by step, found, taken back and brought back, and proven.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browser, checkAccess, checkWidth, command, open, own, say, Server, status } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

const edit = (folder, text) => ({
  text,
  tool_calls: [{ name: "file_editor", arguments: { command: "create", path: join(folder, "a.txt"), file_text: "a\n" } }],
});

test("a shared conversation is gone through step by step, and shows nothing of what came later", async () => {
  const id = await server.begin([command("First.", "echo one"), command("Second.", "echo two"), { text: "All done." }]);
  await server.ended(id);
  const { body } = await server.ask("POST", `/api/conversations/${id}/shares`, {});
  const { page, close } = await open(server, "/");
  await page.goto(`${server.origin}/s#${body.token}`);
  await page.getByText("All done.").waitFor();
  await page.getByRole("button", { name: "Step by step" }).click();
  const player = page.getByRole("group", { name: "Step by step" });
  await player.getByText("1 of 4").waitFor();
  await own(page, "Begin.").waitFor();
  assert.equal(await page.getByText("First.").count(), 0);
  await player.getByRole("button", { name: "Next step" }).click();
  await page.getByText("First.").waitFor();
  assert.equal(await page.getByText("Second.").count(), 0);
  await checkAccess(page, "a conversation step by step");
  await player.getByLabel("Step", { exact: true }).press("End");
  await page.getByText("All done.").waitFor();
  await player.getByLabel("Step", { exact: true }).press("Home");
  await page.getByText("All done.").waitFor({ state: "detached" });
  await player.getByLabel("Speed").selectOption("4");
  await player.getByRole("button", { name: "Play" }).click();
  await page.getByText("All done.").waitFor();
  await player.getByRole("button", { name: "Play" }).waitFor(); // it has ended
  await page.setViewportSize({ width: 360, height: 640 });
  await checkWidth(page);
  await player.getByRole("button", { name: "Back to the conversation" }).click();
  await player.waitFor({ state: "detached" });
  await close();
});

test("one's own conversation is gone through by a command, and goes on after that", async () => {
  const id = await server.begin([{ text: "Done." }, { text: "Done again." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  await say(page, "/replay");
  await page.getByRole("group", { name: "Step by step" }).getByText("1 of 2").waitFor();
  await page.getByRole("button", { name: "Back to the conversation" }).click();
  await say(page, "Once more");
  await page.getByText("Done again.").waitFor();
  await close();
});

test("what was said before is found by a word of it, and said again", async () => {
  const id = await server.begin([{ text: "One." }, { text: "Two." }, { text: "Three." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await page.getByText("One.").waitFor();
  await status(page, "Finished");
  await say(page, "Count the apples");
  await page.getByText("Two.").waitFor();
  await status(page, "Finished");
  await say(page, "Count the pears");
  await page.getByText("Three.").waitFor();
  await status(page, "Finished");
  await page.getByLabel("Message", { exact: true }).press("Alt+ArrowUp");
  const search = page.getByRole("dialog", { name: "What you said before" });
  await search.getByRole("option", { name: "Count the pears" }).waitFor();
  await checkAccess(page, "what was said before");
  await page.keyboard.type("appl");
  await search.getByRole("option", { name: "Count the pears" }).waitFor({ state: "detached" });
  await page.keyboard.press("Enter");
  await search.waitFor({ state: "detached" });
  assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "Count the apples");
  await close();
});

test("a rewinding is begun by /undo, and taken back by /redo also after a reload", async () => {
  const id = await server.begin([{ text: "Hello." }, command("Make.", "echo more > more.txt"), { text: "Made." }]);
  const { workspace } = await server.ended(id);
  const file = join(workspace.working_dir, "more.txt");
  const { page, close } = await open(server, `/c/${id}`);
  await page.getByText("Hello.").waitFor();
  await say(page, "Make it");
  await page.getByText("Made.").waitFor();
  await status(page, "Finished");
  await say(page, "/undo");
  const dialog = page.getByRole("dialog", { name: "Rewind to before this message" });
  await dialog.getByText("is removed").waitFor();
  await dialog.getByRole("button", { name: "Rewind" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.ok(!existsSync(file));
  await page.reload();
  await page.getByText("It was rewound.").waitFor();
  await page.getByLabel("Message", { exact: true }).fill("");
  await say(page, "/redo");
  await own(page, "Make it").waitFor();
  assert.ok(existsSync(file));
  await page.getByText("It was rewound.").waitFor({ state: "detached" });
  await say(page, "/redo");
  await page.getByText("Nothing was rewound that could be taken back.").waitFor();
  await close();
});

test("what was taken back is gone also for who comes then, and loads the end of the log first", async () => {
  const think = { repeat: 100, tool_calls: [{ name: "think", arguments: { thought: "thought {{n}}" } }] };
  const id = await server.begin([{ text: "Hello." }, think, { text: "Long thought." }]);
  await server.ended(id);
  const message = { role: "user", content: [{ type: "text", text: "Think." }], run: true };
  await server.ask("POST", `/api/conversations/${id}/events`, message);
  const { page, close } = await open(server, `/c/${id}`);
  await page.getByText("Long thought.").waitFor();
  await status(page, "Finished");
  const [, hello] = (await server.events(id)).filter(({ kind }) => kind === "MessageEvent");
  await server.ask("POST", `/api/conversations/${id}/navigate`, { event_id: hello.id });
  for (const time of ["now", "after a reload"]) {
    await page.getByText("Hello.").waitFor();
    assert.equal(await page.getByText("Long thought.").count(), 0, time);
    await own(page, "Think.").waitFor({ state: "detached" });
    await page.reload();
  }
  await close();
});

test("what was changed is said to be tried, with the command and its exit code, or not", async () => {
  const tried = await server.begin((folder) => [edit(folder, "I write it."), command("And try it.", "test -s a.txt"), { text: "It works." }]);
  const untried = await server.begin((folder) => [edit(folder, "I write it."), command("I look at it.", "cat a.txt"), { text: "It must work." }]);
  await server.ended(tried);
  await server.ended(untried);
  const { page, close } = await open(server, `/c/${tried}`);
  const note = page.locator(".evidence");
  await note.getByText("test -s a.txt").waitFor();
  await note.getByText("exit 0").waitFor();
  await checkAccess(page, "work that was tried");
  await page.goto(`${server.origin}/c/${untried}`);
  await note.getByText("Unverified: nothing was run after the last change.").waitFor();
  await close();
});
