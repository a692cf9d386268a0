// Conversations that begin with a repository.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { forge, TOKEN } from "./forge.mjs";
import { browser, checkAccess, checkWidth, open, picture, Server, status } from "./harness.mjs";

// Workspaces reach the forge of the test, which is on this machine.
const server = new Server({ DEFT_SANDBOX_NETWORK: "all" });
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

/** Puts a commit into the forge's repository. */
function fill(root) {
  const work = mkdtempSync(join(tmpdir(), "deft-fill-"));
  const git = (...args) => execFileSync("git", ["-C", work, "-c", "user.name=a", "-c", "user.email=a@b", ...args]);
  git("init", "-q", "-b", "main", ".");
  writeFileSync(join(work, "hello.txt"), "hello from the forge");
  git("add", "-A");
  git("commit", "-qm", "first");
  git("push", "-q", join(root, "ann/project.git"), "main");
}

test("a repository of an account is chosen, fetched and worked on; a private one without an account says what to do", async () => {
  const { host, root, close: closeForge } = await forge();
  after(closeForge);
  fill(root);
  const script = join(server.data, "repository.json");
  const steps = [{ text: "I look.", tool_calls: [{ name: "terminal", arguments: { command: "cat hello.txt; git status -sb" } }] }, { text: "Done." }];
  writeFileSync(script, JSON.stringify(steps));
  const { page, close } = await open(server);
  await page.getByLabel("Task").fill("What does it say?");
  await page.getByLabel("Model", { exact: true }).fill(`script:${script}`);
  await page.getByRole("button", { name: "Git repository" }).click();
  await page.getByLabel("Address of the repository").fill(`http://${host}/ann/project`);
  await checkAccess(page, "a repository to begin with");
  const start = page.getByRole("button", { name: "Start", exact: true });
  await start.click();
  await page.getByRole("alert").getByText(`add a git account for ${host}`).waitFor();

  await page.getByRole("button", { name: "add a git account" }).click();
  const dialog = page.getByRole("dialog", { name: "Settings" });
  await dialog.getByLabel("Host").fill(`http://${host}`);
  await dialog.getByLabel("Token").fill(TOKEN);
  await dialog.getByLabel("Kind").selectOption("gitea");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("button", { name: `Remove ${host}` }).waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();

  await page.getByLabel("Address of the repository").fill("proj");
  await page.getByRole("list", { name: "Your repositories" }).getByRole("button", { name: "ann/project" }).click();
  assert.equal(await page.getByLabel("Address of the repository").inputValue(), `http://${host}/ann/project.git`);
  await checkAccess(page, "repositories of an account");
  await picture(page, "web-repository");
  await page.setViewportSize({ width: 360, height: 720 });
  await checkWidth(page);
  await page.setViewportSize({ width: 1280, height: 800 });
  await start.click();
  await status(page, "Finished");
  await page.getByRole("button", { name: /^Command cat/ }).click();
  await page.locator("pre.output", { hasText: "hello from the forge" }).waitFor();
  await page.locator("pre.output", { hasText: "## main...origin/main" }).waitFor();
  const folder = join(server.data, "repositories/project");
  assert.ok(!readFileSync(join(folder, ".git/config"), "utf8").includes(TOKEN));
  assert.ok(!(await page.content()).includes(TOKEN));
  await close();
});
