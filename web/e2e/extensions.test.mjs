// What is added to the agent: MCP servers, and packages of skills and plugins.

import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { serveGuarded } from "./guarded-mcp-server.mjs";
import { browser, checkAccess, open, Server, status } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

const { execPath: NODE } = process;

/** Puts a server where an agent that works there sees it, wherever these tests are. */
function mcpServer(folder) {
  const place = join(folder, "mcp-server.mjs");
  copyFileSync(new URL("mcp-server.mjs", import.meta.url), place);
  return place;
}

async function settings(page, section) {
  await page.getByRole("button", { name: "Settings", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Settings" });
  await dialog.getByRole("tab", { name: section }).click();
  return dialog;
}

test("an MCP server is named with quotes and variables, tested, and never shows a value again", async () => {
  const { page, close } = await open(server);
  const small = mcpServer(server.data);
  const dialog = await settings(page, "MCP servers");
  const add = async (name, target, variables) => {
    await dialog.getByRole("textbox", { name: "Name", exact: true }).fill(name);
    await dialog.getByLabel("Address, or program and arguments").fill(target);
    await dialog.getByLabel("Variables, one per line").fill(variables);
    await dialog.getByRole("button", { name: "Add" }).click();
    await dialog.getByRole("button", { name: `Test ${name}` }).waitFor();
  };
  await add("quoted", `sh -c "exec ${NODE} ${small} MY_TOKEN=hush-hush"`, "MY_TOKEN=hush-hush");
  const kept = (await server.ask("GET", "/api/settings")).body.agent_settings.mcp_config.quoted;
  assert.deepEqual(kept.args, ["-c", `exec ${NODE} ${small} MY_TOKEN=hush-hush`]);
  await dialog.getByText("with MY_TOKEN").waitFor();
  await dialog.getByRole("button", { name: "Test quoted" }).click();
  await dialog.getByText("Works. Tools: say").waitFor();
  await checkAccess(page, "MCP servers");
  await add("broken", "/nowhere/at/all", "");
  await dialog.getByRole("button", { name: "Test broken" }).click();
  await dialog.getByRole("status").filter({ hasText: "/nowhere/at/all" }).waitFor();
  await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("open");
  await dialog.getByLabel("Address, or program and arguments").fill("sh -c 'echo");
  await dialog.getByRole("button", { name: "Add" }).click();
  await dialog.getByText("A quote is not closed.").waitFor();
  for (const name of ["quoted", "broken"]) await dialog.getByRole("button", { name: `Remove ${name}` }).click();
  await dialog.getByText("There are none yet.").filter({ visible: true }).waitFor();
  await close();
});

test("a person logs in at an MCP server on its own page, and the token is used", async () => {
  const guarded = await serveGuarded();
  const { page, close } = await open(server);
  const dialog = await settings(page, "MCP servers");
  await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("guarded");
  await dialog.getByLabel("Address, or program and arguments").fill(`${guarded.origin}/mcp`);
  await dialog.getByRole("button", { name: "Add" }).click();
  await dialog.getByRole("button", { name: "Log in at guarded" }).click();
  const [theirs] = await Promise.all([
    page.context().waitForEvent("page"),
    dialog.getByRole("link", { name: "Agree on the page of guarded" }).click(),
  ]);
  await theirs.getByRole("link", { name: "I agree" }).click();
  await theirs.waitForURL(`${server.origin}/**`);
  await dialog.getByText("You are logged in.").waitFor();
  await dialog.getByRole("button", { name: "Test guarded" }).click();
  await dialog.getByText("Works. Tools: tell").waitFor();
  await dialog.getByRole("button", { name: "Remove guarded" }).click();
  await close();
  guarded.close();
});

test("a server that has changed is shown, and used again when a person approves", async () => {
  const folder = mkdtempSync(join(server.data, "changing-"));
  const script = `${folder}.json`;
  const call = { tool_calls: [{ name: "small_say", arguments: {} }] };
  writeFileSync(script, JSON.stringify([call, { text: "One." }, { text: "Two." }]));
  const agent = {
    kind: "Agent",
    llm: { model: `script:${script}` },
    tools: [{ name: "terminal" }],
    mcp_config: { mcpServers: { small: { command: NODE, args: [mcpServer(folder)] } } },
  };
  const id = await server.begin([], { agent, workspace: { working_dir: folder } });
  await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const dialog = await settings(page, "MCP servers");
  const group = dialog.getByRole("group", { name: "In this conversation" });
  await group.getByText("changed", { exact: true }).waitFor();
  await group.getByText(/say/).first().waitFor();
  await checkAccess(page, "a server that has changed");
  await group.getByRole("button", { name: "Approve small" }).click();
  await group.getByRole("button", { name: "Approve small" }).waitFor({ state: "detached" });
  await close();
});

test("a skill is installed from a folder, switched off and on, and removed", async () => {
  const source = join(mkdtempSync(join(server.data, "source-")), "counting");
  mkdirSync(source);
  writeFileSync(join(source, "SKILL.md"), "---\nname: counting\ndescription: Counts sheep.\n---\nOne, two, three.\n");
  const { page, close } = await open(server);
  const dialog = await settings(page, "Skills");
  const group = dialog.getByRole("group", { name: "Installed skills" });
  await group.getByText("There are none yet.").waitFor();
  await group.getByLabel("Source").fill(source);
  await group.getByRole("button", { name: "Install" }).click();
  await group.getByText("Counts sheep.").waitFor();
  await group.getByText(source).waitFor();
  await checkAccess(page, "skills");
  await group.getByRole("checkbox").click();
  await group.locator("input[type=checkbox]:not(:checked)").waitFor();
  const listed = async () => (await server.ask("GET", "/api/skills/installed")).body.skills;
  assert.deepEqual((await listed()).map(({ name, enabled }) => [name, enabled]), [["counting", false]]);
  await group.getByRole("checkbox").click();
  await group.locator("input[type=checkbox]:checked").waitFor();
  await group.getByLabel("Source").fill("/nowhere");
  await group.getByRole("button", { name: "Install" }).click();
  await group.getByRole("alert").waitFor();
  await group.getByRole("button", { name: "Remove counting" }).click();
  await group.getByText("There are none yet.").waitFor();
  assert.deepEqual(await listed(), []);
  await close();
});
