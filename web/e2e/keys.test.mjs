// Keys, and devices of one's own that are let in.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, checkAccess, checkWidth, open, Server, settings, status } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

test("? shows the keys to whoever does not write, and leads to where they are changed", async () => {
  const { page, close } = await open(server);
  const task = page.getByLabel("Task");
  await task.press("?");
  assert.equal(await task.inputValue(), "?", "who writes writes it");
  const map = page.getByRole("dialog", { name: "Keyboard map" });
  assert.equal(await map.count(), 0);
  await page.locator("h1").click();
  await page.keyboard.press("?");
  await map.getByText("Ctrl+K").waitFor();
  await map.getByRole("button", { name: "Use other keys" }).click();
  await page.getByRole("dialog", { name: "Settings" }).getByRole("tab", { name: "Keyboard", selected: true }).waitFor();
  await close();
});

test("things are put on other keys, switched off, and brought back; that lasts", async () => {
  const { page, close } = await open(server);
  const dialog = await settings(page, "Keyboard");
  const row = dialog.getByRole("button", { name: /change for: All commands and conversations$/ });
  await row.click();
  await page.keyboard.press("a");
  await dialog.getByText("A is needed for writing. Press it together with Ctrl, ⌘ or Alt.").waitFor();
  await page.keyboard.press("Control+j");
  await row.getByText("Ctrl+J").waitFor();
  await checkAccess(page, "the keys");
  await dialog.getByRole("button", { name: "Off: Show this map", exact: true }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.reload();
  await page.getByRole("heading", { name: "What should the agent do?" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.press("Control+/");
  assert.equal(await page.getByRole("dialog").count(), 0);
  await page.keyboard.press("Control+j");
  await page.getByRole("dialog", { name: "Commands" }).waitFor();
  await page.keyboard.press("Escape");
  await settings(page, "Keyboard");
  await dialog.getByRole("button", { name: "Restore the defaults" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "Commands" }).waitFor();
  await close();
});

test("a telephone is let in by a code, steers a conversation, makes no keys, and is shut out again", async () => {
  const id = await server.begin([{ text: "Done." }, { text: "Done again." }]);
  await server.ended(id);
  const { page, close } = await open(server, "/");
  const dialog = await settings(page, "This browser");
  const paired = page.waitForResponse((answer) => answer.url().endsWith("/api/devices") && answer.request().method() === "POST");
  await dialog.getByRole("button", { name: "Show the code" }).click();
  const { key } = await (await paired).json();
  await dialog.getByRole("img", { name: "The code for the other device" }).waitFor();
  await checkAccess(page, "a code for a telephone");

  const telephone = await open({ origin: server.origin, key }, `/c/${id}`, { width: 360, height: 640 });
  await status(telephone.page, "Finished");
  await telephone.page.getByLabel("Message", { exact: true }).fill("Go on");
  await telephone.page.getByRole("button", { name: "Send" }).click();
  await telephone.page.getByText("Done again.").waitFor();
  await checkWidth(telephone.page);
  const refused = await fetch(`${server.origin}/api/devices`, { headers: { "X-Session-API-Key": key } });
  assert.equal(refused.status, 403);

  await dialog.getByRole("button", { name: "Revoke" }).click();
  await telephone.page.getByLabel("Key").waitFor(); // asked for, as it has none that opens anything
  await telephone.close();
  await close();
});
