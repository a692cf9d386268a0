// A task that is given to another agent: its thread is reached from where it was given.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browser, checkAccess, open, panel, Server, status } from "./harness.mjs";

const server = new Server();
server.more = { DEFT_AGENTS_MODEL: `script:${join(server.data, "helper.json")}` };
before(async () => {
  writeFileSync(join(server.data, "helper.json"), JSON.stringify([{ text: "Counted: seven." }]));
  await server.start();
});
after(async () => {
  await browser.close();
  await server.remove();
});

test("a sub-agent's conversation is reached from its card, the tasks and the list, and leads back", async () => {
  const task = { prompt: "Count **all** files.", description: "Count files" };
  const id = await server.begin([{ tool_calls: [{ name: "task", arguments: task }] }, { text: "Done." }], {}, ["task_tool_set"]);
  const ended = await server.ended(id);
  assert.equal(ended.sub_conversation_ids.length, 1);
  const [child] = ended.sub_conversation_ids;
  const { page, close } = await open(server, `/c/${id}`);
  const card = page.getByRole("article", { name: "Sub-agent" });
  await card.getByRole("button", { name: /Count files/ }).click();
  await card.getByText("Counted: seven.").waitFor();
  await card.locator("strong", { hasText: "all" }).waitFor();
  await checkAccess(page, "a sub-agent");
  await card.getByRole("button", { name: "Open its conversation" }).click();
  await page.waitForURL(`**/c/${child}`);
  await page.getByText("Counted: seven.").waitFor();
  await page.locator(".entry.sub-agent.current").waitFor();
  await page.getByRole("link", { name: "Back to its parent" }).click();
  await status(page, "Finished");
  await (await panel(page, "Tasks")).getByRole("button", { name: /Count/ }).waitFor();
  await page.getByRole("button", { name: "New conversation" }).click();
  await page.locator(".entry.sub-agent").waitFor({ state: "detached" });
  assert.equal(await page.locator(".entry").count(), 1, "who looks elsewhere sees the parent only");
  await close();
});

test("agents that are called by name show their tasks, and each leads to its conversation", async () => {
  const spawn = { command: "spawn", ids: ["ann", "bob"] };
  const delegate = { command: "delegate", tasks: { ann: "Count **all** files.", bob: "Read the notes." } };
  const call = (given) => ({ tool_calls: [{ name: "delegate", arguments: given }] });
  const id = await server.begin([call(spawn), call(delegate), { text: "Done." }], {}, ["delegate"]);
  const ended = await server.ended(id);
  assert.equal(ended.sub_conversation_ids.length, 2);
  const { page, close } = await open(server, `/c/${id}`);
  const cards = page.getByRole("article", { name: "Sub-agents" });
  const card = cards.nth(1);
  await card.getByRole("button", { name: /ann, bob/ }).click();
  await card.getByText("Read the notes.").waitFor();
  await card.locator("strong", { hasText: "all" }).waitFor();
  await card.getByRole("button", { name: "Open its conversation" }).nth(1).waitFor();
  await checkAccess(page, "agents that are called by name");
  await card.getByRole("listitem").filter({ hasText: "ann" }).getByRole("button", { name: "Open its conversation" }).click();
  await page.getByText("Count all files.").waitFor();
  assert.ok(ended.sub_conversation_ids.some((child) => page.url().endsWith(child)));
  await close();
});
