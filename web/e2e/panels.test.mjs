// The panels beside the talk.

import assert from "node:assert/strict";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browser, checkAccess, checkWidth, command, open, panel, Server, status } from "./harness.mjs";

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
  await revert(page, changes, "added.txt");
  await changes.getByRole("region", { name: "added.txt" }).waitFor({ state: "detached" });
  await close();
});

/** Takes a whole file back, and says yes to the question. */
async function revert(page, changes, name) {
  await changes.getByRole("region", { name }).getByRole("button", { name: "Revert", exact: true }).click();
  await page.getByRole("dialog", { name: "Revert the whole file?" }).getByRole("button", { name: "Revert" }).click();
}

test("a file is reverted as it was seen and byte by byte, or not at all", async () => {
  const picture = "printf '\\211PNG\\r\\n\\377' > p.png";
  const { id, folder } = await repository([
    command("A picture.", `${picture} && git add p.png && git -c user.name=a -c user.email=a@b commit -qm p && printf '\\211other' > p.png`),
  ]);
  const { page, close } = await open(server, `/c/${id}`);
  const changes = await panel(page, "Changes");
  const poem = changes.getByRole("region", { name: "src/poem.txt" });
  await poem.getByText("LINE FIVE").waitFor();
  const file = join(folder, "src/poem.txt");
  appendFileSync(file, "mine, since\n");
  await revert(page, changes, "src/poem.txt");
  await poem.getByRole("alert").getByText(/changed since it was looked at/).waitFor();
  assert.ok(readFileSync(file, "utf8").endsWith("mine, since\n"), "what came since is not lost");
  await poem.getByText("mine, since").waitFor();
  await checkAccess(page, "a file that was not reverted");
  await revert(page, changes, "src/poem.txt");
  await poem.waitFor({ state: "detached" });

  const shown = changes.getByRole("region", { name: "p.png" });
  await shown.getByText("It is no text").waitFor();
  assert.equal(await shown.getByRole("button", { name: "Revert this part" }).count(), 0);
  await revert(page, changes, "p.png");
  await shown.waitFor({ state: "detached" });
  assert.deepEqual([...readFileSync(join(folder, "p.png"))], [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0xff]);
  await close();
});

test("where there is no repository nothing is overwritten that came since", async () => {
  const create = (folder) => ({ name: "file_editor", arguments: { command: "create", path: `${folder}/a.txt`, file_text: "agent\n" } });
  const id = await server.begin((folder) => [{ tool_calls: [create(folder)] }, { text: "Done." }]);
  const { workspace } = await server.ended(id);
  const file = join(workspace.working_dir, "a.txt");
  writeFileSync(file, "mine\n");
  const { page, close } = await open(server, `/c/${id}`);
  const changes = await panel(page, "Changes");
  await revert(page, changes, "a.txt");
  await changes.getByRole("alert").getByText("The file has changed meanwhile").waitFor();
  assert.equal(readFileSync(file, "utf8"), "mine\n");
  writeFileSync(file, "agent\n");
  await revert(page, changes, "a.txt");
  await changes.getByText("Nothing has changed.").waitFor();
  assert.ok(!existsSync(file));
  await page.reload();
  await (await panel(page, "Changes")).getByText("Nothing has changed.").waitFor();
  await close();
});

test("files that only a sandbox has are none of the workspace, and a Markdown file is read as such", async () => {
  const id = await server.begin([command("Look.", "ls -A"), { text: "Done." }], {}, [], (folder) =>
    writeFileSync(join(folder, "README.md"), "# A title\n"),
  );
  await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const files = await panel(page, "Files");
  await files.getByRole("button", { name: /README\.md/ }).waitFor();
  assert.equal(await files.getByText(".vscode").count(), 0);
  assert.equal(await files.getByText("deft.toml").count(), 0);
  await files.getByLabel("Find a file").fill("o");
  await files.getByRole("button", { name: /README\.md/ }).waitFor({ state: "detached" });
  await files.getByText("Nothing found.").waitFor();
  await files.getByLabel("Find a file").fill("");
  await files.getByRole("button", { name: /README\.md/ }).click();
  await files.getByRole("heading", { name: "A title" }).waitFor();
  await checkAccess(page, "a Markdown file");
  await files.getByRole("button", { name: "Formatted" }).click();
  await files.getByText("# A title").waitFor();
  await close();
});

test("of a file that is empty, or of which only the rights changed, the panel says so", async () => {
  const change = "git init -q . && touch a.sh && git add -A && git -c user.name=a -c user.email=a@b commit -qm first && chmod +x a.sh && touch empty.txt";
  const id = await server.begin([command("Change.", change), { text: "Done." }]);
  await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const changes = await panel(page, "Changes");
  await changes.getByRole("region", { name: "a.sh" }).getByText("No line differs").waitFor();
  await changes.getByRole("region", { name: "empty.txt" }).getByText("The file is empty.").waitFor();
  await close();
});

test("files are listed as they come, and one that cannot be fetched is said so", async () => {
  const id = await server.begin((folder) => [
    command("I wait.", `until [ -e ${folder}/go ]; do sleep 0.1; done; echo made > made.txt`),
    { text: "Done." },
  ]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Working");
  const files = await panel(page, "Files");
  await files.getByText("Nothing is here.").waitFor();
  const { body } = await server.ask("GET", `/api/conversations/${id}`);
  writeFileSync(join(body.workspace.working_dir, "go"), "");
  await files.getByRole("button", { name: /made\.txt/ }).click();
  await files.getByText("made", { exact: true }).waitFor();
  await page.route("**/file/download?*", (route) => route.fulfill({ status: 500, json: { detail: "the disk is gone" } }));
  await files.getByRole("button", { name: "Download" }).click();
  await files.getByRole("alert").getByText("the disk is gone").waitFor();
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
  const again = [{ name: "up.txt", mimeType: "text/plain", buffer: Buffer.from("other") }];
  const question = page.getByRole("dialog", { name: "Replace what is there?" });
  await files.getByLabel("Files to upload").setInputFiles(again);
  await question.getByText("up.txt").waitFor();
  await checkAccess(page, "a question before files are replaced");
  await question.getByRole("button", { name: "Cancel" }).click();
  await question.waitFor({ state: "detached" });
  assert.equal(readFileSync(join(folder, "src/up.txt"), "utf8"), "up");
  await files.getByLabel("Files to upload").setInputFiles(again);
  await question.getByRole("button", { name: "Replace" }).click();
  await files.getByRole("button", { name: /up\.txt.*5/ }).waitFor();
  assert.equal(readFileSync(join(folder, "src/up.txt"), "utf8"), "other");
  await close();
});

test("of many files that changed only those on the screen are asked for, at each step anew", async () => {
  const many = "for n in $(seq 100 199); do seq 1 30 > file-$n.txt; done";
  const { id } = await repository([command("Many files.", many)]);
  const { page, close } = await open(server, `/c/${id}`);
  const asked = [];
  page.on("request", (request) => request.url().includes("/git/review?") && asked.push(request.url()));
  const changes = await panel(page, "Changes");
  await changes.getByRole("region", { name: "file-199.txt" }).waitFor({ state: "attached" });
  await changes.getByRole("region", { name: "added.txt" }).getByText("new", { exact: true }).waitFor();
  const before = new Set(asked).size;
  assert.ok(before < 60, `${before} of 102 files were asked for`);
  const last = changes.getByRole("region", { name: "file-199.txt" });
  await last.scrollIntoViewIfNeeded();
  await last.getByText("30", { exact: true }).first().waitFor();
  assert.ok(asked.some((address) => address.includes("file-199.txt")));
  await close();
});

test("the agent's commands are seen as they run, and one's own terminal is beside them", async () => {
  const id = await server.begin([command("Wait.", "echo begun; sleep 300"), { text: "Done." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Working");
  const terminal = await panel(page, "Terminal");
  const screen = terminal.locator(".xterm-accessibility-tree");
  await screen.filter({ hasText: "begun" }).waitFor();
  await terminal.getByRole("button", { name: "Yours" }).click();
  const type = async (text) => {
    await terminal.getByLabel("Type here.").focus();
    await page.keyboard.type(`${text}\n`);
  };
  await screen.getByText(/[$#]\s*$/).first().waitFor(); // what is typed sooner is shown twice
  await type("test -t 0 && echo is-a-''tty; export KEPT=yes; cd /; printf '\\033[32mgr''een\\033[0m\\n'");
  await screen.getByText("is-a-tty").waitFor();
  await screen.getByText("green", { exact: true }).waitFor();
  await type("echo kept-$KEPT-in-$PWD.");
  await screen.getByText("kept-yes-in-/.", { exact: true }).waitFor();
  await type("read -p 'your na''me? ' name; echo hello-$name");
  await screen.getByText("your name?").waitFor();
  await type("Ada");
  await screen.getByText("hello-Ada", { exact: true }).waitFor();
  await checkAccess(page, "a terminal");
  await type(`sh -c "echo sle''eping; exec sleep 300"`);
  await screen.getByText("sleeping", { exact: true }).waitFor();
  await page.keyboard.press("Control+c");
  await type("echo inter''rupted");
  await screen.getByText("interrupted", { exact: true }).waitFor();
  await page.keyboard.press("F6");
  assert.equal(await page.evaluate(() => document.activeElement.closest(".xterm")), null, "the keyboard is not caught");
  await type("exit");
  await terminal.getByText("The shell has ended.").waitFor();
  await terminal.getByRole("button", { name: "Open a new one" }).click();
  await type("echo ag''ain");
  await screen.getByText("again", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Close the panel" }).click();
  await page.getByLabel("Message", { exact: true }).fill("!echo from-the-fi''eld");
  await page.keyboard.press("Enter");
  await screen.getByText("from-the-field", { exact: true }).waitFor();
  await close();
});

test("what the agent's commands wrote before the page was opened is there, without gap or double", async () => {
  const id = await server.begin([command("Wait.", "echo be''gun; until [ -e go ]; do sleep 0.1; done; echo en''ded"), { text: "Done." }]);
  const { page, close } = await open(server, `/c/${id}`);
  const terminal = await panel(page, "Terminal");
  const screen = terminal.locator(".xterm-accessibility-tree");
  await screen.getByText("begun", { exact: true }).waitFor();
  await page.reload();
  const again = await panel(page, "Terminal");
  await again.locator(".xterm-accessibility-tree").getByText("begun", { exact: true }).waitFor();
  const { body } = await server.ask("GET", `/api/conversations/${id}`);
  writeFileSync(join(body.workspace.working_dir, "go"), "");
  await status(page, "Finished");
  await screen.getByText("ended", { exact: true }).waitFor();
  assert.equal(await screen.getByText("begun", { exact: true }).count(), 1);
  await close();
});

test("the context tells what was summarised to make room", async () => {
  const summary = join(server.data, "summary.json");
  writeFileSync(summary, JSON.stringify([{ text: "We looked at ten numbers." }]));
  const condenser = { kind: "LLMSummarizingCondenser", llm: { model: `script:${summary}` } };
  const steps = [{ ...command("Look.", "echo number {{n}}"), repeat: 10 }, { text: "Done." }];
  const task = { role: "user", content: [{ type: "text", text: "Look at ten numbers, one after the other." }] };
  const id = await server.begin(steps, { agent: { condenser }, initial_message: task });
  await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const context = await panel(page, "Context");
  await context.getByText("Message by message").click();
  const messages = context.getByRole("list", { name: "Message by message" });
  await messages.getByText("number 1").first().waitFor();
  assert.equal(await messages.getByRole("listitem").count(), 23);
  await context.getByRole("button", { name: "Make room now" }).click();
  const summarised = messages.getByRole("listitem").filter({ hasText: "We looked at ten numbers." });
  await summarised.getByText(/^Stands for \d+ earlier messages$/).waitFor();
  assert.ok((await messages.getByRole("listitem").count()) < 23);
  await checkAccess(page, "the context after a summary");
  await context.getByRole("heading", { name: "What the model reads" }).scrollIntoViewIfNeeded();
  await close();
});

test("the context says what the model reads; panels are reached by keys and on a telephone", async () => {
  const plan = { name: "task_tracker", arguments: { command: "plan", task_list: [{ title: "Look", notes: "", status: "done" }, { title: "Mend", notes: "", status: "in_progress" }] } };
  const id = await server.begin([{ tool_calls: [plan] }, { text: "Done." }], {}, ["task_tracker"]);
  await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`, { width: 360, height: 640 });
  await status(page, "Finished");
  await page.keyboard.press("Alt+6");
  const context = page.getByRole("complementary", { name: "Context" });
  await context.getByText("System prompt").first().waitFor();
  await context.getByText(/^Tools/).last().click();
  await context.getByText("terminal", { exact: true }).waitFor();
  await context.getByText("Its arguments, as a JSON schema").first().click();
  await context.getByText('"properties"').first().waitFor();
  await checkAccess(page, "the context");
  await checkWidth(page);
  await page.keyboard.press("Alt+5");
  await page.getByText("The agent has not looked at a page.").waitFor();
  await page.keyboard.press("Alt+4");
  const tasks = page.getByRole("complementary", { name: "Tasks" });
  await tasks.getByText("1 of 2 done").waitFor();
  await tasks.getByRole("listitem").filter({ hasText: "Mend" }).getByLabel("under way").waitFor();
  await page.reload();
  await status(page, "Finished");
  await page.getByRole("button", { name: "Panels" }).click();
  await tasks.waitFor(); // the one that was looked at last
  await close();
});
