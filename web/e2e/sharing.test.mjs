// Links to a conversation, and branches that are pushed.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { forge, TOKEN } from "./forge.mjs";
import { browser, checkAccess, checkWidth, command, open, panel, Server, status } from "./harness.mjs";

// Workspaces reach the forge of the test, which is on this machine.
const server = new Server({ DEFT_SANDBOX_NETWORK: "all" });
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

/** Opens a page without the key to the server. */
async function visit(link, size = { width: 1280, height: 800 }) {
  const context = await browser.newContext({ viewport: size, colorScheme: "light", reducedMotion: "reduce" });
  const page = await context.newPage();
  const faults = [];
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (/content security policy/i.test(message.text())) faults.push(`policy: ${message.text()}`);
  });
  await page.goto(link);
  return {
    page,
    async close() {
      await context.close();
      assert.deepEqual(faults, []);
    },
  };
}

test("who has a link reads and follows a conversation, until it is taken back", async () => {
  const id = await server.begin([command("Look.", "echo hello"), { text: "Done." }, { text: "More is done." }]);
  await server.ended(id);
  await server.ask("PATCH", `/api/conversations/${id}`, { title: "A shown thing" });
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  await page.getByRole("button", { name: "More about A shown thing" }).click();
  await page.getByRole("menuitem", { name: "Share" }).click();
  const dialog = page.getByRole("dialog", { name: "Share “A shown thing”" });
  await dialog.getByRole("button", { name: "Make a link" }).click();
  const link = await dialog.getByLabel("The link, which is shown only once").inputValue();
  await dialog.getByRole("button", { name: "Revoke" }).waitFor();
  await dialog.getByText("an address of this machine only").waitFor();
  await checkAccess(page, "links");

  const guest = await visit(link, { width: 360, height: 640 });
  await guest.page.getByRole("heading", { name: "A shown thing" }).waitFor();
  await guest.page.getByText("Done.").waitFor();
  await guest.page.getByText("exit 0").waitFor();
  assert.equal(await guest.page.getByLabel("Message", { exact: true }).count(), 0, "nothing can be said");
  assert.equal(await guest.page.getByRole("button", { name: /Edit|Rewind|Fork|Stop|Settings/ }).count(), 0);
  await checkAccess(guest.page, "a shared conversation");
  await checkWidth(guest.page);

  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByLabel("Message", { exact: true }).fill("Go on.");
  await page.keyboard.press("Enter");
  await guest.page.getByText("More is done.").waitFor();

  await page.getByRole("button", { name: "More about A shown thing" }).click();
  await page.getByRole("menuitem", { name: "Share" }).click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await guest.page.getByText("This link opens nothing").waitFor();
  await guest.close();
  await close();
});

test("nothing is said of a shared conversation before something is known", async () => {
  const id = await server.begin([{ text: "One." }]);
  await server.ended(id);
  await server.ask("PATCH", `/api/conversations/${id}`, { title: "A shown thing" });
  const { body } = await server.ask("POST", `/api/conversations/${id}/shares`, { expires_in: null });
  const { page, close } = await visit(server.origin);
  await page.routeWebSocket(/\/sockets\/shared/, () => {}); // is opened, and tells nothing
  await page.goto(`${server.origin}/s#${body.token}`);
  await page.getByRole("heading", { name: "A shown thing" }).waitFor();
  await page.getByText("One.", { exact: true }).waitFor();
  assert.equal(await page.locator(".bar .status, .bar .meters").count(), 0);
  await close();
});

test("a branch is pushed and a pull request opened with an account of the settings", async () => {
  const { host, root, requests, close: closeForge } = await forge();
  const begin = [
    "git init -q . && git checkout -q -b feature && echo one > a.txt && git add -A",
    "git -c user.name=a -c user.email=a@b commit -qm 'Make it work'",
    `git remote add origin http://${host}/ann/project.git`,
  ].join(" && ");
  const id = await server.begin([command("Begin.", begin), { text: "Done." }]);
  await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const changes = await panel(page, "Changes");
  await changes.getByText(`add a git account for ${host}`).waitFor();
  await changes.getByRole("button", { name: "Settings" }).click();
  const dialog = page.getByRole("dialog", { name: "Settings" });
  await dialog.getByLabel("Host").fill(`http://${host}`);
  await dialog.getByLabel("Token").fill(TOKEN);
  await dialog.getByLabel("Kind").selectOption("gitea");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("button", { name: `Remove ${host}` }).waitFor();
  await checkAccess(page, "git accounts");
  assert.ok(!(await page.content()).includes(TOKEN));
  await dialog.getByRole("button", { name: "Done" }).click();

  await changes.getByRole("button", { name: "Push", exact: true }).click();
  await changes.getByText("Pushed.").waitFor();
  const branch = () => execFileSync("git", ["-C", join(root, "ann/project.git"), "log", "-1", "--format=%s", "feature"]);
  assert.equal(branch().toString().trim(), "Make it work");
  await changes.getByRole("button", { name: "Pull request" }).click();
  assert.equal(await changes.getByLabel("Title").inputValue(), "Make it work");
  await checkAccess(page, "a pull request to open");
  await changes.getByRole("button", { name: "Push and open it" }).click();
  await changes.getByRole("link", { name: "https://forge.example/pulls/1" }).waitFor();
  const opened = requests.at(-1);
  assert.deepEqual(opened.body, { title: "Make it work", body: "", head: "feature", base: "main" });
  assert.equal(opened.who, `token ${TOKEN}`);
  closeForge();
  await close();
});
