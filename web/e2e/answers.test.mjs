// What waits for a person's word: how it is answered, and how it is not answered by a slip.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browser, checkAccess, command, open, Server, status } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

const ASKS = { confirmation_policy: { kind: "AlwaysConfirm" } };
const folderOf = async (id) => (await server.ask("GET", `/api/conversations/${id}`)).body.workspace.working_dir;
const question = (page) => page.getByRole("region", { name: "Waiting for you" });

test("a message while something waits rejects it, and the agent reads why", async () => {
  const id = await server.begin([command("Careful.", "touch made"), { text: "Then not." }], ASKS);
  const { page, close } = await open(server, `/c/${id}`);
  await question(page).waitFor();
  await page.getByLabel("Message", { exact: true }).fill("Stop, do not do that.");
  await page.getByRole("button", { name: "Send instead" }).click();
  await page.getByText("Then not.").waitFor();
  await status(page, "Finished");
  await page.getByLabel("You", { exact: true }).filter({ hasText: "Stop, do not do that." }).waitFor();
  assert.equal(await page.getByText("Not sent.").count(), 0);
  assert.ok(!existsSync(join(await folderOf(id), "made")), "it was not done");
  const rejected = (await server.events(id)).find((event) => event.kind === "UserRejectObservation");
  assert.equal(rejected.rejection_reason, "Stop, do not do that.");
  await close();
});

test("of several actions one is left out, and the agent reads why", async () => {
  const [one, other] = ["one", "other"].map((name) => command("", `touch ${name}`).tool_calls[0]);
  const id = await server.begin([{ text: "Careful.", tool_calls: [one, other] }, { text: "Done." }], ASKS);
  const { page, close } = await open(server, `/c/${id}`, { width: 360, height: 640 });
  await question(page).getByRole("checkbox", { name: "Allow this: touch one" }).uncheck();
  await checkAccess(page, "one of two actions is left out");
  await question(page).getByLabel("Why not, for the agent").fill("One is there already.");
  await question(page).getByRole("button", { name: "Allow the chosen ones" }).click();
  await status(page, "Finished");
  const folder = await folderOf(id);
  assert.deepEqual(["one", "other"].map((name) => existsSync(join(folder, name))), [false, true]);
  const rejected = (await server.events(id)).find((event) => event.kind === "UserRejectObservation");
  assert.equal(rejected.rejection_reason, "One is there already.");
  await close();
});

test("the key that allows does nothing while one writes elsewhere", async () => {
  const id = await server.begin([command("Careful.", "touch made"), { text: "Done." }], ASKS);
  const { page, close } = await open(server, `/c/${id}`);
  await question(page).waitFor();
  const own = page.getByLabel("You", { exact: true }).filter({ hasText: "Begin." });
  await own.hover();
  await own.getByRole("button", { name: "Edit" }).click();
  const words = page.getByLabel("The message, changed");
  await words.fill("");
  await words.press("Control+Enter");
  await words.press("Escape");
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Control+Enter");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const message = page.getByLabel("Message", { exact: true });
  await message.fill("Rather");
  await message.press("Control+Enter");
  assert.ok(await question(page).isVisible(), "it still waits");
  assert.ok(!existsSync(join(await folderOf(id), "made")));
  await message.fill("");
  await message.press("Control+Enter");
  await status(page, "Finished");
  assert.ok(existsSync(join(await folderOf(id), "made")), "it is still the key that allows");
  await close();
});

test("what would be written is seen before it is allowed, and danger is no button to press at once", async () => {
  const id = await server.begin(
    (folder) => [
      { tool_calls: [{ name: "write_file", arguments: { file_path: `${folder}/a.txt`, content: "first line\n" } }] },
      { tool_calls: [{ name: "edit", arguments: { file_path: `${folder}/a.txt`, old_string: "first", new_string: "other" } }] },
      { tool_calls: [{ name: "terminal", arguments: { command: "true", security_risk: "HIGH" } }] },
      { text: "Done." },
    ],
    { ...ASKS, security_analyzer: { kind: "LLMSecurityAnalyzer" } },
    ["write_file", "edit"],
  );
  const { page, close } = await open(server, `/c/${id}`);
  const allow = question(page).getByRole("button", { name: "Allow", exact: true });
  await question(page).getByText("+first line").waitFor();
  assert.match(await allow.getAttribute("class"), /primary/);
  await allow.click();
  await question(page).getByText("-first").waitFor();
  await question(page).getByText("+other").waitFor();
  await allow.click();
  await question(page).getByText("true").waitFor();
  assert.doesNotMatch(await allow.getAttribute("class"), /primary/);
  await allow.click();
  await status(page, "Finished");
  assert.equal(readFileSync(join(await folderOf(id), "a.txt"), "utf8"), "other line\n");
  await close();
});
