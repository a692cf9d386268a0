// How a conversation begins: with which model, which tools and which words.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browser, checkAccess, checkWidth, open, Server, status } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

const start = async (page, task) => {
  await page.getByLabel("Task").fill(task);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/\/c\//);
  return new URL(page.url()).pathname.slice(3);
};

/** Opens the app as somebody who was here before. */
async function openAs(preferences, path = "/") {
  const opened = await open(server, path);
  await opened.page.evaluate(
    (state) => localStorage.setItem("deft.preferences", JSON.stringify({ state, version: 0 })),
    preferences,
  );
  await opened.page.reload();
  return opened;
}

test("who has chosen no model is led to it", async () => {
  const { page, close } = await openAs({});
  await page.getByText("No model is set up yet.").waitFor();
  await page.getByLabel("Task").fill("Say hello.");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  const model = page.getByRole("combobox", { name: "Model", exact: true });
  assert.ok(await model.evaluate((field) => field === document.activeElement), "its field has the focus");
  await model.fill("openai/none");
  await page.getByRole("button", { name: "Test the connection" }).click();
  await page.getByLabel("Address", { exact: true }).waitFor();
  await close();
});

test("Enter begins one conversation, and a folder that is not there yet is said so before", async () => {
  const folder = join(server.data, "typo");
  const { page, close } = await openAs({ model: "demo", folder });
  await page.getByText("There is no such folder yet.").waitFor();
  await page.getByLabel("Folder", { exact: true }).fill(server.data);
  await page.getByText("There is no such folder yet.").waitFor({ state: "detached" });
  const task = page.getByLabel("Task");
  const count = async () => (await server.ask("GET", "/api/conversations/count")).body;
  const before = await count();
  await task.press("Enter");
  assert.equal(await task.inputValue(), "");
  await task.pressSequentially("Say hello.");
  await task.press("Shift+Enter");
  await task.pressSequentially("Twice.");
  assert.equal(await task.inputValue(), "Say hello.\nTwice.");
  await page.keyboard.down("Enter");
  await page.keyboard.down("Enter"); // it is held
  await page.waitForURL(/\/c\//);
  await status(page, "Finished");
  assert.equal(await count(), before + 1);
  await close();
});

test("a new conversation has every tool that suits its model", async () => {
  const { page, close } = await openAs({ model: "demo" });
  const id = await start(page, "Say hello.");
  const { agent } = (await server.ask("GET", `/api/conversations/${id}`)).body;
  const names = agent.tools.map(({ name }) => name);
  for (const name of ["terminal", "file_editor", "grep", "glob", "task_tracker", "fetch", "browser_navigate", "task_tool_set"]) {
    assert.ok(names.includes(name), `${name} is among ${names}`);
  }
  assert.ok(!names.includes("apply_patch"), "one way to edit is enough");
  await close();
});

test("a new conversation has the budget that the settings name, before it says anything", async () => {
  const script = join(server.data, "budget.json");
  writeFileSync(script, JSON.stringify([{ text: "Hello." }]));
  await server.ask("PATCH", "/api/settings", { misc_settings_diff: { budget: { cost: 3, tokens: 1_000_000 } } });
  const { page, close } = await openAs({ model: `script:${script}` });
  const id = await start(page, "Say hello.");
  await page.getByText("Hello.", { exact: true }).waitFor();
  const { limits } = (await server.ask("GET", `/api/conversations/${id}/budget`)).body;
  assert.equal(Number(limits.cost), 3);
  assert.equal(limits.tokens, 1_000_000);
  await page.getByRole("button", { name: /of \$3/ }).waitFor();
  await server.ask("PATCH", "/api/settings", { misc_settings_diff: { budget: null } });
  await close();
});

test("a profile is used as it is, whatever address was written before", async () => {
  await server.ask("POST", "/api/profiles/mine", { llm: { model: "demo" } });
  const { page, close } = await openAs({ profile: "mine", baseUrl: "http://127.0.0.1:9/elsewhere" });
  await page.getByLabel("Profile").waitFor();
  const id = await start(page, "Say hello.");
  const { agent } = (await server.ask("GET", `/api/conversations/${id}`)).body;
  assert.equal(agent.llm.model, "demo");
  assert.notEqual(agent.llm.base_url, "http://127.0.0.1:9/elsewhere");
  await server.ask("DELETE", "/api/profiles/mine");
  await close();
});

test("a profile that is gone is forgotten", async () => {
  const { page, close } = await openAs({ profile: "ghost", model: "demo" });
  await start(page, "Say hello.");
  await page.getByLabel("You", { exact: true }).filter({ hasText: "Say hello." }).waitFor();
  await close();
});

test("what was written is there after a look elsewhere and a reload; pictures go with the first message", async () => {
  const other = await server.begin([{ text: "Done." }]);
  const { page, close } = await openAs({ model: "demo" });
  await page.getByLabel("Task").fill("Much to do");
  await page.locator(".conversations a").first().click();
  await status(page, "Finished");
  await page.getByLabel("Message", { exact: true }).fill("A long message");
  await page.reload();
  const message = page.getByLabel("Message", { exact: true });
  assert.equal(await message.inputValue(), "A long message");
  await page.locator("textarea[aria-label=Message]:focus").waitFor();
  await page.keyboard.type(", and its end");
  assert.equal(await message.inputValue(), "A long message, and its end");
  await page.getByRole("button", { name: "New conversation" }).click();
  assert.equal(await page.getByLabel("Task").inputValue(), "Much to do");
  await page.keyboard.type(" today");
  assert.equal(await page.getByLabel("Task").inputValue(), "Much to do today");
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  await page.getByLabel("Pictures and files").setInputFiles({ name: "a.png", mimeType: "image/png", buffer: Buffer.from(png, "base64") });
  const picture = page.getByRole("button", { name: "Remove picture 1" });
  await picture.waitFor();
  await page.locator(".conversations a").first().click();
  await status(page, "Finished");
  await page.reload();
  await page.getByRole("button", { name: "New conversation" }).click();
  await picture.waitFor();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL((url) => url.pathname.startsWith("/c/") && !url.pathname.endsWith(other));
  await page.getByLabel("You", { exact: true }).getByRole("img", { name: "Picture 1" }).waitFor();
  await page.getByRole("button", { name: "New conversation" }).click();
  assert.equal(await page.getByLabel("Task").inputValue(), "", "what was sent is not written once more");
  assert.equal(await picture.count(), 0);
  await close();
});

test("a file that is no picture goes into the workspace before the first message, which names it", async () => {
  const folder = mkdtempSync(join(server.data, "given-"));
  const { page, close } = await openAs({ model: "demo", folder });
  const chooser = page.getByLabel("Pictures and files");
  await chooser.setInputFiles(["figures.csv", "taken out.txt"].map((name) => ({ name, mimeType: "text/plain", buffer: Buffer.from("1,2") })));
  await page.getByRole("button", { name: "Remove taken out.txt" }).click();
  await page.getByRole("button", { name: "Remove figures.csv" }).waitFor();
  await checkAccess(page, "files for the first message");
  await start(page, "Add these up.");
  await page.getByLabel("You", { exact: true }).filter({ hasText: "Add these up. @uploads/figures.csv" }).waitFor();
  assert.equal(readFileSync(join(folder, "uploads/figures.csv"), "utf8"), "1,2");
  assert.deepEqual(readdirSync(join(folder, "uploads")), ["figures.csv"]);
  await close();
});

test("files of the folder are named by @ in the first message, too", async () => {
  const folder = mkdtempSync(join(server.data, "named-"));
  writeFileSync(join(folder, "needle.txt"), "");
  const { page, close } = await openAs({ model: "demo", folder });
  await page.getByLabel("Task").pressSequentially("Look at @need");
  await page.getByRole("option", { name: "@needle.txt" }).waitFor();
  await checkAccess(page, "names that are offered");
  await page.keyboard.press("Enter");
  assert.equal(await page.getByLabel("Task").inputValue(), "Look at @needle.txt ");
  await close();
});

test("menus and buttons have room on a telephone, in German too", async () => {
  await server.begin([{ text: "Done." }]);
  const { page, close } = await openAs({ model: "demo", language: "de" });
  await page.setViewportSize({ width: 360, height: 640 });
  await page.getByRole("heading", { name: "Was soll der Agent tun?" }).waitFor();
  const field = await page.locator(".with-button input").boundingBox();
  const button = await page.locator(".with-button > button").boundingBox();
  const isApart = button.y >= field.y + field.height || button.x >= field.x + field.width;
  assert.ok(isApart, `the button at ${button.x},${button.y} covers the field`);
  await page.getByRole("button", { name: "Gespräche zeigen" }).click();
  await page.locator(".entry [aria-haspopup=menu]").first().click();
  const menu = await page.getByRole("menu").boundingBox();
  assert.ok(menu.width < 320, `the menu is ${menu.width} px wide`);
  await checkWidth(page);
  for (const closed of ["menu", "dialog"]) {
    if (closed === "dialog") {
      await page.keyboard.press("Enter");
      await page.getByRole("menuitem", { name: "Umbenennen" }).click();
      await page.getByRole("dialog").waitFor();
    }
    await page.keyboard.press("Escape");
    await page.getByRole(closed).waitFor({ state: "detached" });
    assert.ok(await page.getByRole("button", { name: "Neues Gespräch" }).isVisible(), `Escape closes the ${closed} alone`);
  }
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Neues Gespräch" }).waitFor({ state: "hidden" });
  await close();
});

test("another program works in the place of Deft's own agent", async () => {
  const { page, close } = await openAs({});
  await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption("another program");
  assert.equal(await page.getByLabel("Model", { exact: true }).count(), 0, "it has a model of its own");
  await page.getByLabel("Its command").fill("no-such-agent --acp");
  const id = await start(page, "Say hello.");
  const { agent } = (await server.ask("GET", `/api/conversations/${id}`)).body;
  assert.deepEqual([agent.kind, agent.acp_command], ["ACPAgent", ["no-such-agent", "--acp"]]);
  await page.getByRole("article", { name: "Error" }).waitFor();
  await close();
});
