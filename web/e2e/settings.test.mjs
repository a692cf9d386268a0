// Settings on the server and in the browser, and the first run.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { browser, checkAccess, open, picture, Server, settings } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

/** A model server that accepts one key. */
async function provider() {
  const http = createServer((request, response) => {
    const isKnown = request.headers.authorization === "Bearer sk-right";
    response.writeHead(isKnown ? 200 : 401, { "Content-Type": "application/json" });
    const message = { role: "assistant", content: "ok" };
    response.end(JSON.stringify(isKnown ? { id: "1", choices: [{ index: 0, message, finish_reason: "stop" }] } : { error: { message: "no such key" } }));
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  return { address: `http://127.0.0.1:${http.address().port}/v1`, close: () => http.close() };
}

test("a profile is tested layer by layer, saved without showing its key, and used", async () => {
  const { address, close: closeProvider } = await provider();
  const { page, close } = await open(server);
  const dialog = await settings(page, "Models");
  await dialog.getByText("Add a profile").click();
  await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("mine");
  await dialog.getByLabel("Model of the profile").fill("openai/qwen3-coder");
  await dialog.getByLabel("Key of the profile").fill("sk-wrong");
  await dialog.getByLabel("Address of the profile").fill(address);
  await dialog.getByRole("button", { name: "Test the connection" }).click();
  await dialog.locator(".findings li", { hasText: "connection" }).getByLabel("works").waitFor();
  await dialog.locator(".findings li", { hasText: "key" }).getByLabel("fails").first().waitFor();
  await checkAccess(page, "a model that was tested");
  await picture(page, "web-settings");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("button", { name: "In use" }).waitFor();
  assert.ok(!(await page.content()).includes("sk-wrong"));
  await dialog.getByRole("button", { name: "Done" }).click();
  assert.equal(await page.getByLabel("Profile").inputValue(), "mine");
  await page.getByLabel("Task").fill("Say hello.");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByText(/did not accept the key/).first().waitFor();
  closeProvider();
  await close();
});

test("the agent's settings, secrets and MCP servers are kept on the server", async () => {
  const { page, close } = await open(server);
  const dialog = await settings(page, "Agent");
  await dialog.getByLabel("Instructions for every new conversation").fill("Speak plainly.");
  await dialog.getByLabel("Most steps in one run").fill("77");
  await dialog.getByLabel("At most: Dollars").fill("2.5");
  await checkAccess(page, "settings of the agent");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("Saved.").waitFor();
  const kept = (await server.ask("GET", "/api/settings")).body;
  assert.equal(kept.agent_settings.agent_context.system_message_suffix, "Speak plainly.");
  assert.equal(kept.conversation_settings.max_iterations, 77);
  assert.equal(kept.misc_settings.budget.cost, 2.5);

  await dialog.getByRole("tab", { name: "Secrets" }).click();
  await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("MY_TOKEN");
  await dialog.getByLabel("Value").fill("top-secret");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("MY_TOKEN").waitFor();
  assert.ok(!(await page.content()).includes("top-secret"));
  await checkAccess(page, "secrets");
  await dialog.getByRole("button", { name: "Remove MY_TOKEN" }).click();
  await dialog.getByText("MY_TOKEN").waitFor({ state: "detached" });

  await dialog.getByRole("tab", { name: "MCP servers" }).click();
  await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("notes");
  await dialog.getByLabel("Address, or program and arguments").fill("npx -y notes-server");
  await dialog.getByRole("button", { name: "Add" }).click();
  await dialog.getByText("npx -y notes-server").waitFor();
  await checkAccess(page, "MCP servers");
  await dialog.getByRole("checkbox").click();
  await dialog.locator("input:not(:checked)[type=checkbox]:visible").waitFor();
  await dialog.getByRole("button", { name: "Remove notes" }).click();
  await dialog.getByText("There are none yet.").filter({ visible: true }).waitFor();
  await dialog.getByRole("tab", { name: "Agent" }).click();
  await dialog.getByLabel("Instructions for every new conversation").fill("Half a sen");
  await dialog.getByRole("tab", { name: "Skills" }).click();
  await dialog.getByText("SKILL.md").waitFor();
  await dialog.getByRole("tab", { name: "Agent" }).click();
  assert.equal(await dialog.getByLabel("Instructions for every new conversation").inputValue(), "Half a sen", "it is kept");
  await close();
});

test("the app speaks other languages, and remembers which", async () => {
  const { page, close } = await open(server);
  const dialog = await settings(page, "This browser");
  await dialog.getByLabel("Language").selectOption("de");
  await page.getByRole("heading", { name: "Was soll der Agent tun?" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Was soll der Agent tun?" }).waitFor();
  assert.equal(await page.locator("html").getAttribute("lang"), "de");
  await close();
});

test("the keyboard map opens by its key", async () => {
  const { page, close } = await open(server);
  await page.locator("h1").click();
  await page.keyboard.press("Control+/");
  await page.getByRole("dialog", { name: "Keyboard map" }).waitFor();
  await checkAccess(page, "the keyboard map");
  await close();
});

test("models that run on the machine are offered first", async () => {
  const { page, close } = await open(server);
  await page.route("**/api/app/local_models", (route) =>
    route.fulfill({ json: [{ title: "Ollama", address: "http://127.0.0.1:11434", models: ["ollama/qwen3"] }] }),
  );
  await page.evaluate(() => localStorage.removeItem("deft.preferences"));
  await page.reload();
  await page.getByRole("button", { name: "ollama/qwen3" }).click();
  assert.equal(await page.getByLabel("Model", { exact: true }).inputValue(), "ollama/qwen3");
  await page.locator("textarea[aria-label=Task]:focus").waitFor();
  await close();
});

test("what was allowed is listed and taken back; folders are remembered; webhooks and figures are shown", async () => {
  const id = await server.begin([{ text: "Done." }]);
  await server.ended(id);
  await server.ask("POST", `/api/conversations/${id}/allow_rules`, { rule: "git status", scope: "conversation" });
  const { page, close } = await open(server, `/c/${id}`);
  const dialog = await settings(page, "Safety");
  await dialog.getByText("git status").waitFor();
  await checkAccess(page, "safety");
  await dialog.getByRole("button", { name: "Remove git status" }).click();
  await dialog.getByText("git status").waitFor({ state: "detached" });
  await dialog.getByRole("tab", { name: "Server", exact: true }).click();
  await dialog.getByLabel("Folder").fill("/srv/somewhere");
  await dialog.getByRole("group", { name: "Workspaces" }).getByRole("button", { name: "Add" }).click();
  await dialog.getByRole("button", { name: "Remove /srv/somewhere" }).waitFor();
  await dialog.getByRole("group", { name: "Webhooks" }).getByText("There are none yet.").waitFor();
  await dialog.getByText("How long it runs.").waitFor();
  await checkAccess(page, "the server");
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "New conversation" }).click();
  await page.locator("datalist option[value='/srv/somewhere']").waitFor({ state: "attached" });
  await close();
});

test("a webhook is added, tested and changed; what it did not take is sent once more; and it is removed", async () => {
  let answer = 500;
  const got = [];
  const receiver = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    got.push({ path: request.url, headers: request.headers, body: JSON.parse(Buffer.concat(parts)) });
    response.writeHead(answer).end();
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const address = `http://127.0.0.1:${receiver.address().port}/hook`;
  const { page, close } = await open(server);
  const dialog = await settings(page, "Server");
  const form = dialog.getByRole("group", { name: "Webhooks" });
  await form.getByLabel("Address").fill(address);
  await form.getByLabel("Secret that signs requests").fill("s3cret");
  await form.getByRole("button", { name: "Add", exact: true }).click();
  await form.getByText("signed").waitFor();
  assert.ok(!(await page.content()).includes("s3cret"));
  await form.getByRole("button", { name: `Test ${address}` }).click();
  await form.getByText(/does not take the request.*500/).waitFor();
  answer = 200;
  await form.getByRole("button", { name: `Test ${address}` }).click();
  await form.getByText(/It answers, in/).waitFor();
  assert.ok(got.at(-1).headers["webhook-signature"]);

  await form.getByRole("button", { name: `Change ${address}` }).click();
  await form.getByLabel("Header to send along").first().fill("X-Mine: abc");
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByText("with x-mine").waitFor();
  await checkAccess(page, "webhooks");

  // It gives up soon, which only the protocol can say.
  const { body } = await server.ask("GET", "/api/webhooks");
  const quick = { dead_letter_after: 1, flush_delay: 0.01, retry_delay: 0.01 };
  await server.ask("PATCH", `/api/webhooks/${body.webhooks[0].id}`, quick);
  answer = 500;
  await server.ended(await server.begin([{ text: "Done." }]));
  const given = form.getByText(/requests were given up/);
  await given.click();
  await form.getByText(/answered with 500/).first().waitFor();
  await picture(page, "web-webhooks");
  answer = 200;
  await form.getByRole("button", { name: /once more/ }).click();
  await given.waitFor({ state: "detached" });
  assert.equal(got.at(-1).headers["x-mine"], "abc");
  await form.getByRole("button", { name: `Remove ${address}` }).click();
  await form.getByText("There are none yet.").waitFor();
  receiver.close();
  await close();
});
