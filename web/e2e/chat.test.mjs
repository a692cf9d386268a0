// What can be done in a talk besides talking.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browser, checkAccess, checkInside, command, open, own, say, Server, status } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

test("an action runs as it was changed", async () => {
  const id = await server.begin([command("Careful.", "touch wrong"), { text: "Done." }], {
    confirmation_policy: { kind: "AlwaysConfirm" },
  });
  const { page, close } = await open(server, `/c/${id}`);
  const question = page.getByRole("region", { name: "Waiting for you" });
  await question.getByRole("button", { name: "Edit" }).click();
  await question.getByLabel("The action, changed").fill("touch right");
  await checkAccess(page, "an action that is changed");
  await question.getByRole("button", { name: "Run as changed" }).click();
  await status(page, "Finished");
  const { workspace } = (await server.ask("GET", `/api/conversations/${id}`)).body;
  assert.deepEqual(["wrong", "right"].map((name) => existsSync(join(workspace.working_dir, name))), [false, true]);
  await close();
});

test("other words for an earlier message begin another branch, and both can be looked at", async () => {
  const id = await server.begin([{ text: "First answer." }, { text: "Second answer." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await page.getByText("First answer.").waitFor();
  await say(page, "Old words");
  await page.getByText("Second answer.").waitFor();
  await status(page, "Finished");
  await own(page, "Old words").hover();
  await own(page, "Old words").getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("The message, changed").fill("New words");
  await checkAccess(page, "a message that is changed");
  await page.keyboard.press("Control+Enter");
  await own(page, "New words").getByText("2/2").waitFor();
  await page.getByText("Second answer.").waitFor();
  assert.equal(await own(page, "Old words").count(), 0);
  await status(page, "Finished");
  await own(page, "New words").getByRole("button", { name: "Previous version" }).click();
  await own(page, "Old words").getByText("1/2").waitFor();
  await page.reload();
  await own(page, "Old words").getByText("1/2").waitFor();
  assert.equal(await own(page, "New words").count(), 0, "what is shown is where the conversation stands");
  await close();
});

test("files and conversation go back to before a message, after a look at what that changes", async () => {
  const id = await server.begin([
    command("Make.", "echo kept > kept.txt"),
    { text: "Made." },
    command("Spoil.", "echo spoilt > kept.txt; echo more > more.txt"),
    { text: "Spoilt." },
  ]);
  const { workspace } = await server.ended(id);
  const file = (name) => join(workspace.working_dir, name);
  const { page, close } = await open(server, `/c/${id}`);
  await page.getByText("Made.").waitFor();
  await say(page, "Spoil it");
  await page.getByText("Spoilt.").waitFor();
  await status(page, "Finished");
  await own(page, "Spoil it").hover();
  await own(page, "Spoil it").getByRole("button", { name: "Rewind" }).click();
  const dialog = page.getByRole("dialog", { name: "Rewind to before this message" });
  await dialog.getByText("kept.txt").waitFor();
  await dialog.getByText("is removed").waitFor();
  await checkAccess(page, "what a way back changes");
  assert.equal(readFileSync(file("kept.txt"), "utf8"), "spoilt\n", "looking changes nothing");
  await dialog.getByRole("button", { name: "Rewind" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.equal(readFileSync(file("kept.txt"), "utf8"), "kept\n");
  assert.ok(!existsSync(file("more.txt")));
  await own(page, "Spoil it").waitFor({ state: "detached" });
  assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "Spoil it");

  await page.getByText("It was rewound.").waitFor();
  await page.getByRole("button", { name: "Undo it" }).click();
  await own(page, "Spoil it").waitFor();
  await page.getByText("It was rewound.").waitFor({ state: "detached" });
  assert.equal(readFileSync(file("kept.txt"), "utf8"), "spoilt\n");
  assert.ok(existsSync(file("more.txt")));

  await page.getByLabel("Message", { exact: true }).fill("What was begun meanwhile");
  await own(page, "Spoil it").hover();
  await own(page, "Spoil it").getByRole("button", { name: "Rewind" }).click();
  await dialog.getByText("is removed").waitFor();
  await dialog.getByRole("button", { name: "Rewind" }).click();
  await own(page, "Spoil it").waitFor({ state: "detached" });
  assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "What was begun meanwhile");
  await close();
});

test("somebody else's edits are not lost without a word", async () => {
  const id = await server.begin([command("Make.", "echo agent > a.txt"), { text: "Made." }]);
  const { workspace } = await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  writeFileSync(join(workspace.working_dir, "a.txt"), "mine\n");
  await own(page, "Begin.").hover();
  await own(page, "Begin.").getByRole("button", { name: "Rewind" }).click();
  const dialog = page.getByRole("dialog", { name: "Rewind to before this message" });
  await dialog.getByText("edited by somebody else since").waitFor();
  assert.ok(await dialog.getByRole("button", { name: "Rewind" }).isDisabled());
  await dialog.getByLabel("Overwrite those edits, too").check();
  await dialog.getByRole("button", { name: "Rewind" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.ok(!existsSync(join(workspace.working_dir, "a.txt")));
  await close();
});

test("a fork goes on from a message, and the original stays", async () => {
  const id = await server.begin([{ text: "One." }, { text: "Two." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await page.getByText("One.").waitFor();
  await status(page, "Finished");
  await page.getByLabel("Agent", { exact: true }).first().hover();
  await page.getByLabel("Agent", { exact: true }).first().getByRole("button", { name: "Fork" }).click();
  await page.waitForURL((url) => !url.pathname.includes(id));
  await page.getByText("One.").waitFor();
  assert.equal((await server.events(id)).filter((event) => event.source === "user").length, 1);
  await close();
});

test("another model goes on, by its name in a message or in the palette", async () => {
  const id = await server.begin([{ text: "One." }]);
  await server.ended(id);
  await server.ask("POST", "/api/profiles/second-model", { llm: { model: "demo" } });
  const modelOf = async () => (await server.ask("GET", `/api/conversations/${id}`)).body.agent.llm.model;
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const message = page.getByLabel("Message", { exact: true });
  await message.pressSequentially("/model sec");
  await page.getByRole("listbox", { name: "Completions" }).getByRole("option", { name: "second-model" }).waitFor();
  await page.keyboard.press("Enter");
  assert.equal(await message.inputValue(), "/model second-model ");
  const first = await modelOf();
  await message.fill("/model no-such-model");
  await page.keyboard.press("Enter");
  const problem = page.getByRole("alert").filter({ hasText: "no-such-model" });
  await problem.waitFor();
  await message.fill("/model second-model");
  await page.keyboard.press("Enter");
  await problem.waitFor({ state: "detached" });
  await page.locator(".bar").getByText("demo", { exact: true }).waitFor();
  assert.notEqual(await modelOf(), first);
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByRole("combobox").fill("switch model");
  await page.getByRole("option", { name: "Switch model: second-model" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await server.ask("DELETE", "/api/profiles/second-model");
  await close();
});

test("files and commands are completed while one writes", async () => {
  const id = await server.begin([command("Make.", "mkdir src; touch src/needle.rs src/other.rs"), { text: "Made." }, { text: "Read." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await page.getByText("Made.").waitFor();
  const message = page.getByLabel("Message", { exact: true });
  await message.pressSequentially("Look at @need");
  await page.getByRole("option", { name: "@src/needle.rs" }).waitFor();
  await checkAccess(page, "completions");
  await page.keyboard.press("Tab");
  assert.equal(await message.inputValue(), "Look at @src/needle.rs ");
  await page.keyboard.press("Enter");
  await own(page, "@src/needle.rs").waitFor();
  await message.pressSequentially("/term");
  await page.getByRole("option", { name: /\/terminal/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await page.getByRole("complementary", { name: "Terminal" }).waitFor();
  assert.equal(await message.inputValue(), "");
  await close();
});

test("a conversation is tagged, put away, found again and exported in three forms", async () => {
  const id = await server.begin([command("I look.", "echo seen"), { text: "All <b>done</b>." }]);
  await server.ended(id);
  await server.ask("PATCH", `/api/conversations/${id}`, { title: "Keepsake" });
  const { page, close } = await open(server, `/c/${id}`);
  const choose = async (item) => {
    await page.getByRole("button", { name: "More about Keepsake" }).click();
    await page.getByRole("menuitem", { name: item, exact: true }).click();
  };
  for (const [format, ending, said] of [["Markdown", "md", "## User"], ["HTML", "html", "&#60;b&#62;"], ["JSON", "json", '"MessageEvent"']]) {
    const [saved] = await Promise.all([page.waitForEvent("download"), choose(`Export as ${format}`)]);
    assert.equal(saved.suggestedFilename(), `Keepsake.${ending}`);
    const text = readFileSync(await saved.path(), "utf8");
    assert.ok(text.includes(said) && text.includes("seen"), format);
  }
  await choose("Tags");
  await page.getByLabel("Words, with spaces between them").fill("review urgent");
  await page.keyboard.press("Enter");
  await page.locator(".entry .tag", { hasText: "urgent" }).waitFor();
  await choose("Tags");
  await page.getByLabel("Words, with spaces between them").fill("review urgent server release-candidate performance");
  await page.keyboard.press("Enter");
  const last = page.locator(".entry .tag", { hasText: "performance" });
  await last.waitFor();
  await checkInside(last, page.locator(".sidebar"));
  await checkInside(page.locator(".entry.current .entry-facts > :last-child"), page.locator(".sidebar"));
  await choose("Archive");
  await page.getByRole("button", { name: "New conversation" }).click();
  await page.getByText("Keepsake").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Show the archive" }).click();
  await page.getByLabel("Search conversations").fill("urgent");
  await page.getByRole("listitem").filter({ hasText: "Keepsake" }).waitFor();
  await close();
});

test("who looks elsewhere is told when it is done", async () => {
  const id = await server.begin([{ text: "One." }, { text: "word ".repeat(60), chunk_delay_ms: 40 }]);
  await server.ended(id);
  const { page, close } = await open(server, "/");
  await page.addInitScript(() => {
    window.said = [];
    window.Notification = class {
      static permission = "granted";
      constructor(title) {
        window.said.push(title);
      }
    };
    document.hasFocus = () => false;
    localStorage.setItem("deft.preferences", JSON.stringify({ state: { notify: true }, version: 0 }));
  });
  await page.goto(`${server.origin}/c/${id}`);
  await status(page, "Finished");
  const message = { role: "user", content: [{ type: "text", text: "Go on." }], run: true };
  await server.ask("POST", `/api/conversations/${id}/events`, message);
  await status(page, "Working");
  await status(page, "Finished");
  assert.deepEqual(await page.evaluate(() => window.said), ["Begin. is finished"]);
  await close();
});

test("the end of a conversation is shown before its stream begins, and files find its folder", async () => {
  const id = await server.begin([{ repeat: 60, tool_calls: [{ name: "think", arguments: { thought: "{{n}}" } }] }, { text: "The end." }]);
  await server.ended(id);
  const { page, close } = await open(server, "/");
  await page.addInitScript(() => {
    window.WebSocket = class {
      close() {}
      send() {}
    };
  });
  await page.goto(`${server.origin}/c/${id}`);
  await page.getByText("The end.").waitFor();
  assert.equal(await page.getByText("Loading…").count(), 0);
  await page.getByLabel("Pictures and files").setInputFiles({ name: "a.pdf", mimeType: "application/pdf", buffer: Buffer.from("x") });
  await page.waitForFunction(() => document.querySelector(".composer textarea").value === "@uploads/a.pdf ");
  const { body } = await server.ask("GET", `/api/conversations/${id}`);
  assert.ok(existsSync(join(body.workspace.working_dir, "uploads/a.pdf")));
  await close();
});

test("a very long line is the same while it is written and when it is stored", async () => {
  const text = Array.from({ length: 2_000 }, (_, index) => `word${index}`).join(" ");
  const id = await server.begin([{ text, chunk_delay_ms: 1 }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const shown = page.getByLabel("Agent", { exact: true }).locator(".one-line");
  assert.ok((await shown.textContent()).trim() === text, "all words, in one line");
  await close();
});

test("who goes up by a few lines stays there, and follows the end again after coming back or saying something", async () => {
  const texts = ["A paragraph.\n\n".repeat(60), "The second.", "The third.", "The fourth."];
  const id = await server.begin(texts.map((text) => ({ text })));
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const left = () => page.locator(".timeline").evaluate((at) => at.scrollHeight - at.scrollTop - at.clientHeight);
  const isLeft = (pixels) =>
    page.waitForFunction((pixels) => {
      const { scrollHeight, scrollTop, clientHeight } = document.querySelector(".timeline");
      return Math.abs(scrollHeight - scrollTop - clientHeight - pixels) < 3;
    }, pixels);
  const drawn = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await page.getByRole("log").hover();
  for (const [by, then] of [[-10, 10], [-10, 20], [-20, 40]]) {
    await page.mouse.wheel(0, by);
    await isLeft(then);
    await drawn(); // whatever would undo the step
  }
  await isLeft(40);
  const fromElsewhere = { role: "user", content: [{ type: "text", text: "Again" }], run: true };
  await server.ask("POST", `/api/conversations/${id}/events`, fromElsewhere);
  await page.getByText("The second.").waitFor({ state: "attached" });
  await status(page, "Finished");
  assert.ok((await left()) > 40, "what comes takes nobody along who reads above it");
  await page.getByRole("log").hover();
  await page.mouse.wheel(0, 1_000);
  await say(page, "And again");
  await page.getByText("The third.").waitFor();
  await status(page, "Finished");
  await isLeft(0);
  await page.getByRole("log").hover();
  await page.mouse.wheel(0, -1_000);
  await page.getByRole("button", { name: "To the end" }).waitFor();
  await say(page, "Once more");
  await page.getByText("The fourth.").waitFor();
  await isLeft(0);
  await close();
});

test("a conversation of high cards opens at its very end", async () => {
  const failing = (n) => command(`Try ${n}.`, `seq 1 30; exit ${n}`);
  const id = await server.begin([failing(1), failing(2), failing(3), failing(4), { text: "One\n\ntwo\n\nthree\n\nThe end." }]);
  await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`);
  await page.getByText("The end.").waitFor();
  await page.waitForFunction(() => {
    const { scrollHeight, scrollTop, clientHeight } = document.querySelector(".timeline");
    return scrollHeight > 2 * clientHeight && scrollHeight - scrollTop - clientHeight < 2;
  });
  assert.equal(await page.getByRole("button", { name: "To the end" }).count(), 0);
  await close();
});
