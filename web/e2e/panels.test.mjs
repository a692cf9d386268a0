// The panels beside the talk.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browser, checkAccess, checkWidth, command, open, panel, picture, Server, status } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

const lines = (count) => `seq 1 ${count} | sed 's/^/line /'`;
const REPOSITORY = [
  "git init -q . && mkdir -p src",
  `${lines(60)} > src/poem.txt`,
  "printf 'fn main() {\\n    println!(\"hi\");\\n}\\n' > src/main.rs",
  "git add -A && git -c user.name=a -c user.email=a@b commit -qm first",
].join(" && ");
const EDITS = "sed -i 's/^line 5$/LINE FIVE/; s/^line 50$/LINE FIFTY/' src/poem.txt && echo new > added.txt";

/** A conversation in a repository with changes, and its folder. */
async function repository(more = []) {
  const steps = [command("I look at the repository first.", REPOSITORY), command("Now the two lines.", EDITS), ...more, { text: "Done." }];
  const task = "Write the fifth and the fiftieth line in capitals.";
  const id = await server.begin(steps, { initial_message: { role: "user", content: [{ type: "text", text: task }] } });
  const { workspace } = await server.ended(id);
  return { id, folder: workspace.working_dir };
}

test("changes are reviewed: two layouts, a part taken back, a remark sent, all committed", async () => {
  const { id, folder } = await repository();
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const changes = await panel(page, "Changes");
  const poem = changes.getByRole("region", { name: "src/poem.txt" });
  await poem.getByText("LINE FIVE").waitFor();
  await changes.getByRole("region", { name: "added.txt" }).waitFor();
  await checkAccess(page, "changes, inline");
  await changes.getByRole("button", { name: "Side by side" }).click();
  await poem.locator(".diff.beside").waitFor();
  await checkAccess(page, "changes, side by side");

  await poem.getByRole("button", { name: "Comment on line 50" }).last().click();
  await poem.getByLabel("Comment", { exact: true }).fill("Write it in words.");
  await poem.getByRole("button", { name: "Add comment" }).click();
  await changes.getByText("1 comment", { exact: true }).waitFor();
  await picture(page, "web-review");

  await poem.getByRole("button", { name: "Revert this part" }).first().click();
  await poem.getByText("LINE FIVE").waitFor({ state: "detached" });
  const text = readFileSync(join(folder, "src/poem.txt"), "utf8");
  assert.ok(text.includes("line 5\n") && text.includes("LINE FIFTY"), "one part is back, the other stays");

  await changes.getByRole("button", { name: "Send to the agent" }).click();
  await page.getByLabel("You").getByText("Write it in words.").waitFor();
  await changes.getByLabel("Commit message").fill("It's done");
  await changes.getByRole("button", { name: "Commit all" }).click();
  await changes.getByText("Nothing has changed.").waitFor();
  await close();
});

test("a file that is new is reverted by removing it", async () => {
  const { id } = await repository();
  const { page, close } = await open(server, `/c/${id}`);
  const changes = await panel(page, "Changes");
  await changes.getByRole("region", { name: "added.txt" }).getByRole("button", { name: "Revert" }).click();
  await changes.getByRole("region", { name: "added.txt" }).waitFor({ state: "detached" });
  await close();
});

test("files are looked through, read in colours, found by name, fetched and brought", async () => {
  const { id, folder } = await repository();
  const { page, close } = await open(server, `/c/${id}`);
  const files = await panel(page, "Files");
  await files.getByRole("button", { name: /^src/ }).click();
  await files.getByRole("button", { name: /main\.rs/ }).click();
  await files.locator(".hljs-keyword", { hasText: "fn" }).waitFor();
  await checkAccess(page, "a file");
  await picture(page, "web-files");
  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    files.getByRole("button", { name: "Download" }).click(),
  ]);
  assert.equal(saved.suggestedFilename(), "main.rs");
  await files.getByRole("button", { name: "Back" }).click();
  await files.getByLabel("Find a file").fill("poem");
  await files.getByRole("button", { name: /src\/poem\.txt/ }).waitFor();
  await files.getByLabel("Find a file").fill("");
  await files.getByLabel("Files to upload").setInputFiles([{ name: "up.txt", mimeType: "text/plain", buffer: Buffer.from("up") }]);
  await files.getByRole("button", { name: /up\.txt/ }).waitFor();
  assert.equal(readFileSync(join(folder, "src/up.txt"), "utf8"), "up");
  await close();
});

test("the agent's commands are seen as they run, and one's own run beside them", async () => {
  const id = await server.begin([command("Wait.", "echo begun; sleep 300"), { text: "Done." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Working");
  const terminal = await panel(page, "Terminal");
  const screen = terminal.locator(".xterm-accessibility-tree");
  await screen.filter({ hasText: "begun" }).waitFor();
  await terminal.getByRole("button", { name: "Yours" }).click();
  const run = async (text) => {
    await terminal.getByLabel("Command", { exact: true }).fill(text);
    await page.keyboard.press("Enter");
  };
  await run("mkdir sub; cd sub; printf '\\033[32mgreen\\033[0m\\n'");
  await screen.getByText("green", { exact: true }).waitFor();
  await terminal.getByText("sub $").waitFor();
  await run("printf '10%%\\r50%%\\r100%%\\n'; basename $PWD; exit 3");
  await screen.getByText("100%", { exact: true }).waitFor();
  await screen.getByText("exit 3", { exact: true }).waitFor();
  await run("echo first; sleep 300");
  await screen.getByText("first", { exact: true }).waitFor();
  await terminal.getByRole("button", { name: "Stop" }).click();
  await terminal.getByRole("button", { name: "Run" }).waitFor();
  await checkAccess(page, "a terminal");
  await picture(page, "web-terminal");
  await close();
});

test("what commands wrote before the page was opened is there, without gap or double", async () => {
  const id = await server.begin([command("Wait.", "echo be''gun; until [ -e go ]; do sleep 0.1; done; echo en''ded"), { text: "Done." }]);
  const first = await open(server, `/c/${id}`);
  const before = await panel(first.page, "Terminal");
  await before.locator(".xterm-accessibility-tree").getByText("begun", { exact: true }).waitFor();
  await before.getByRole("button", { name: "Yours" }).click();
  await before.getByLabel("Command", { exact: true }).fill("echo mi''ne");
  await first.page.keyboard.press("Enter");
  await before.locator(".xterm-accessibility-tree").getByText("mine", { exact: true }).waitFor();
  await first.close();

  const { page, close } = await open(server, `/c/${id}`);
  const terminal = await panel(page, "Terminal");
  const screen = terminal.locator(".xterm-accessibility-tree");
  await screen.getByText("begun", { exact: true }).waitFor();
  await terminal.getByRole("button", { name: "Yours" }).click();
  await screen.getByText("mine", { exact: true }).waitFor();
  await terminal.getByLabel("Command", { exact: true }).fill("touch go");
  await page.keyboard.press("Enter");
  await status(page, "Finished");
  await terminal.getByRole("button", { name: "The agent’s" }).click();
  await screen.getByText("ended", { exact: true }).waitFor();
  assert.equal(await screen.getByText("begun", { exact: true }).count(), 1);
  await close();
});

test("the context says what the model reads; panels are reached by keys and on a telephone", async () => {
  const plan = { name: "task_tracker", arguments: { command: "plan", task_list: [{ title: "Look", notes: "", status: "done" }, { title: "Mend", notes: "", status: "in_progress" }] } };
  const id = await server.begin([{ tool_calls: [plan] }, { text: "Done." }], { tools: true });
  await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`, { width: 360, height: 640 });
  await status(page, "Finished");
  await page.keyboard.press("Alt+6");
  const context = page.getByRole("complementary", { name: "Context" });
  await context.getByText("System prompt").first().waitFor();
  await context.getByText(/^Tools/).last().click();
  await context.getByText("terminal", { exact: true }).waitFor();
  await checkAccess(page, "the context");
  await checkWidth(page);
  await page.keyboard.press("Alt+5");
  await page.getByText("The agent has not looked at a page.").waitFor();
  await page.keyboard.press("Alt+4");
  await page.getByRole("complementary", { name: "Tasks" }).waitFor();
  await close();
});
