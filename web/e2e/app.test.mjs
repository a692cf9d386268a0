import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browser, checkAccess, checkWidth, command, open, PATIENCE, panel, picture, Server, status } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

const slow = { text: "word ".repeat(100), chunk_delay_ms: 40 };

test("files of the app are packed and kept for good", async () => {
  const page = await (await fetch(server.origin, { headers: { Accept: "text/html" } })).text();
  const files = [...page.matchAll(/"(\/assets\/[^"]+\.(?:js|css))"/g)].map(([, path]) => path);
  assert.ok(files.length >= 2, page);
  for (const path of files) {
    const { headers } = await fetch(server.origin + path, { headers: { "Accept-Encoding": "gzip" } });
    assert.equal(headers.get("content-encoding"), "gzip", path);
    assert.equal(headers.get("cache-control"), "public, max-age=31536000, immutable", path);
  }
});

test("a newcomer sees a finished task, what changed and what it cost", async () => {
  const { page, close } = await open(server);
  assert.equal(new URL(page.url()).hash, "", "the key is taken out of the address");
  await checkAccess(page, "the first page");
  await picture(page, "web-new");
  await page.getByRole("button", { name: "Try the demo" }).press("Enter");
  await status(page, "Finished");
  await page.locator("textarea[aria-label=Message]:focus").waitFor();
  await page.getByText("exit 1").first().waitFor();
  await page.getByText("exit 0").first().waitFor();
  await (await panel(page, "Changes")).getByText("greet.sh").first().waitFor();
  await page.getByText("$0.00").first().waitFor();
  await page.locator(".meters").getByText("Context").waitFor();
  await checkAccess(page, "a conversation with changes");
  await page.emulateMedia({ colorScheme: "dark" });
  await checkAccess(page, "the same in the dark");
  await page.emulateMedia({ colorScheme: "light" });
  await page.getByRole("button", { name: "Close the panel" }).click();
  await page.setViewportSize({ width: 360, height: 720 });
  await checkWidth(page);
  await close();
});

test("what runs is stopped at once, and goes on when asked", async () => {
  const id = await server.begin([command("I wait.", "sleep 300"), { text: "Done." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await page.getByText("sleep 300").first().waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await status(page, "Paused");
  await page.getByRole("button", { name: "Go on" }).click();
  await status(page, "Finished");
  await close();
});

test("a message is taken while the agent works", async () => {
  const id = await server.begin([slow, { text: "I heard you." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Working");
  await page.getByLabel("Message", { exact: true }).fill("Use tabs.");
  await page.keyboard.press("Enter");
  await page.getByLabel("You").getByText("Use tabs.").waitFor();
  await page.getByText("I heard you.").waitFor();
  assert.equal(await page.getByText("Use tabs.").count(), 1);
  await close();
});

test("a reload in the middle of a run loses and doubles nothing", async () => {
  const id = await server.begin([command("One.", "echo first"), slow, { text: "unused" }]);
  const { page, close } = await open(server, `/c/${id}`);
  await page.getByText(/word word/).first().waitFor();
  await page.reload();
  await page.getByText(/word word/).first().waitFor();
  await status(page, "Finished");
  assert.equal(await page.getByRole("article").count(), 3, "a message, a command, a reply");
  await close();
});

test("a server that comes back is found, and the run goes on where it was", async () => {
  const id = await server.begin([command("One.", "echo first"), command("Two.", "sleep 1; echo second"), slow]);
  const { page, close } = await open(server, `/c/${id}`);
  await page.getByText("sleep 1; echo second").first().waitFor();
  await server.stop("SIGKILL");
  await page.getByText("The connection is lost").waitFor();
  await server.start();
  await page.getByText("The connection is lost").waitFor({ state: "detached" });
  const goOn = page.getByRole("button", { name: /Go on|Try again/ });
  await Promise.race([goOn.waitFor(), status(page, "Finished")]);
  if (await goOn.isVisible()) await goOn.click();
  await status(page, "Finished");
  const kinds = (await server.events(id)).map((event) => event.kind);
  assert.equal(kinds.filter((kind) => kind === "ActionEvent").length, 2);
  assert.equal(await page.getByRole("article", { name: "Command" }).count(), 2);
  await close();
});

test("what must be allowed waits for a word", async () => {
  const id = await server.begin([command("Careful.", "echo allowed"), { text: "Done." }], {
    confirmation_policy: { kind: "AlwaysConfirm" },
  });
  const { page, close } = await open(server, `/c/${id}`);
  const question = page.getByRole("region", { name: "Waiting for you" });
  await question.getByText("echo allowed").first().waitFor();
  await checkAccess(page, "a question");
  await question.getByRole("button", { name: "Allow", exact: true }).press("Enter");
  await status(page, "Finished");
  await page.getByText("exit 0").waitFor();
  await page.locator("textarea[aria-label=Message]:focus").waitFor();
  await close();
});

test("what is rejected does not run, and the agent is told why", async () => {
  const id = await server.begin([command("Careful.", "touch made"), { text: "Then not." }], {
    confirmation_policy: { kind: "AlwaysConfirm" },
  });
  const { page, close } = await open(server, `/c/${id}`);
  await page.getByLabel("Why not, for the agent").fill("not here");
  await page.getByRole("button", { name: "Reject" }).click();
  await page.getByText("Then not.").waitFor();
  await page.getByText("rejected").waitFor();
  const { body } = await server.ask("GET", `/api/conversations/${id}`);
  assert.ok(!existsSync(join(body.workspace.working_dir, "made")));
  await close();
});

test("what models and commands say stays text", async () => {
  const text = [
    "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>",
    "[click](javascript:window.hacked=1) ![p](https://evil.example/p.png?secret)",
    "<iframe src='https://evil.example'></iframe><svg onload='window.hacked = 1'></svg>",
  ].join("\n\n");
  const hostile = "<img src=x onerror='window.hacked = 1'>";
  const id = await server.begin((folder) => [
    command(text, "printf '\\033[31mred\\033[0m <b>bold</b>\\033]0;title\\007\\n'"),
    command("Files.", `git init -q . && printf '%s\\n' "${hostile}" > "${hostile.replaceAll("/", "")}.txt"`),
    { tool_calls: [{ name: "file_editor", arguments: { command: "create", path: `${folder}/${hostile}\u202e.md`, file_text: `${hostile}\u202e\n` } }] },
    { text: "Done." },
  ]);
  await server.ended(id);
  await server.ask("PATCH", `/api/conversations/${id}`, { title: `${hostile}\u202e` });
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const changes = await panel(page, "Changes");
  await changes.getByText(hostile).nth(3).waitFor(); // two names, two contents
  await page.getByRole("tab", { name: "Files" }).click();
  await page.getByRole("complementary", { name: "Files" }).getByText(hostile).first().waitFor();
  await page.getByRole("heading", { name: hostile }).waitFor();
  await page.getByRole("button", { name: /^Command printf/ }).click();
  await page.locator("pre.output", { hasText: "red <b>bold</b>" }).waitFor();
  await page.getByText("Picture: p (opens evil.example)").waitFor();
  const found = await page.evaluate(() => ({
    hacked: "hacked" in window,
    dangerous: document.querySelectorAll("body script, iframe, img, svg:not(.lucide), a[href^='javascript']").length,
    turned: document.body.innerText.includes("\u202e"),
  }));
  assert.deepEqual(found, { hacked: false, dangerous: 0, turned: false });
  await close();
});

test("an error says what happened and what to do", async () => {
  const id = await server.begin([{ error: { kind: "authentication", message: "no such key" } }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Failed");
  await page.getByText(/did not accept the key/).first().waitFor();
  await page.getByRole("button", { name: "Try again" }).waitFor();
  await checkAccess(page, "an error");
  assert.equal(await page.locator("button.primary:enabled").count(), 1, "one thing is to be done first");
  const other = join(server.data, "other.json");
  writeFileSync(other, JSON.stringify([{ text: "The other one answers." }]));
  const failure = page.getByRole("article", { name: "Error" });
  await failure.getByLabel("Model").fill(`script:${other}`);
  await failure.getByRole("button", { name: "Go on with it" }).click();
  await page.getByText("The other one answers.").waitFor();
  await status(page, "Finished");
  assert.equal(await failure.getByLabel("Model").count(), 0, "what is past offers nothing");
  await close();
});

test("who looks for a conversation that is gone is led on", async () => {
  const { page, close } = await open(server, `/c/${"0".repeat(32)}`);
  await page.getByText("This conversation does not exist").waitFor();
  await checkAccess(page, "a conversation that is gone");
  await page.getByRole("main").getByRole("button", { name: "New conversation" }).click();
  await page.getByRole("heading", { name: "What should the agent do?" }).waitFor();
  await close();
});

test("conversations are found, renamed, deleted and reached by keyboard", async () => {
  const id = await server.begin([{ text: "The xylophone is tuned." }]);
  await server.ended(id);
  await server.ask("PATCH", `/api/conversations/${id}`, { title: "Needle" });
  const { page, close } = await open(server);
  await page.getByLabel("Search conversations").fill("tuned xylophone");
  await page.getByRole("listitem").filter({ hasText: "Needle" }).waitFor();
  assert.equal(await page.locator(".entry").count(), 1);
  await page.getByLabel("Search conversations").fill("needle");
  await page.getByRole("listitem").filter({ hasText: "Needle" }).waitFor();
  assert.equal(await page.locator(".entry").count(), 1);
  await page.getByRole("button", { name: "More about Needle" }).click();
  await checkAccess(page, "what can be done with a conversation");
  await page.getByRole("menuitem", { name: "Rename" }).click();
  await page.getByLabel("Title").fill(" ");
  await page.getByRole("button", { name: "Save" }).and(page.locator(":disabled")).waitFor();
  await page.getByLabel("Title").fill("Needle two");
  await page.keyboard.press("Enter");
  await page.getByText("Needle two").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "Commands" }).waitFor();
  await page.keyboard.type("needle two");
  await checkAccess(page, "the commands");
  await page.keyboard.type(" and no more");
  await page.getByRole("status").getByText("Nothing by that name.").waitFor();
  await checkAccess(page, "no command");
  await page.getByRole("dialog").getByRole("combobox").fill("needle two");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Needle two" }).waitFor();
  await page.getByRole("button", { name: "More about Needle two" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "What should the agent do?" }).waitFor();
  await page.getByText("Needle two").waitFor({ state: "detached" });
  await close();
});

test("what runs is stopped by a command, which is offered then", async () => {
  const id = await server.begin([{ delay_ms: 3_600_000, text: "Never." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Working");
  await page.getByText("Thinking…").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: "Stop now" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByLabel("Message", { exact: true }).fill("/sto");
  await page.getByRole("option", { name: "/stop" }).click();
  await page.keyboard.press("Enter");
  await status(page, "Paused");
  assert.equal(await page.getByText("Thinking…").count(), 0);
  await close();
});

test("what runs is stopped from the list, too", async () => {
  const id = await server.begin([command("I wait.", "sleep 300"), { text: "Never." }]);
  await server.ask("PATCH", `/api/conversations/${id}`, { title: "A long wait" });
  const { page, close } = await open(server);
  await page.getByRole("button", { name: "More about A long wait" }).click();
  await page.getByRole("menuitem", { name: "Stop" }).click();
  assert.equal((await server.ended(id)).execution_status, "paused");
  await page.getByRole("listitem").filter({ hasText: "A long wait" }).getByText("Paused").waitFor();
  await close();
});

test("what can be done with a conversation is found by name", async () => {
  const id = await server.begin([{ text: "Hello." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByRole("combobox").fill("go on in a copy");
  await page.keyboard.press("Enter");
  await page.waitForURL((address) => !address.pathname.endsWith(id));
  await page.getByText("Hello.").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "Commands" }).waitFor();
  await page.keyboard.type("settings");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Settings" }).waitFor();
  await page.keyboard.press("Escape");
  const message = page.getByLabel("Message", { exact: true });
  await message.fill("/sto");
  assert.equal(await page.getByRole("option", { name: "/stop" }).count(), 0, "nothing runs");
  await message.fill("/stop");
  await page.keyboard.press("Enter");
  await page.getByText("Nothing is under way.").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: "Go on in a copy" }).waitFor();
  assert.equal(await page.getByRole("option", { name: "Stop now" }).count(), 0);
  await page.keyboard.press("Escape");
  const sentence = "/changes in a.txt are wrong";
  await message.fill(sentence);
  await page.keyboard.press("Enter");
  await page.getByText(sentence).waitFor();
  await close();
});

test("settings last, but the key of a model does not", async () => {
  const { page, close } = await open(server);
  await page.getByRole("button", { name: "Settings" }).click();
  const dialog = page.getByRole("dialog", { name: "Settings" });
  await dialog.getByLabel("Model", { exact: true }).fill("openai/some");
  await dialog.getByLabel("Key", { exact: true }).fill("sk-secret");
  await dialog.getByRole("tab", { name: "This browser" }).click();
  await dialog.getByLabel("Appearance").selectOption("dark");
  await checkAccess(page, "the settings");
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.reload();
  assert.equal(await page.getByLabel("Model", { exact: true }).inputValue(), "openai/some");
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  assert.ok(!(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).includes("sk-secret"));
  await close();
});

test("a wrong key is asked for again", async () => {
  const { page, close } = await open(server);
  const refused = page.waitForResponse((answer) => answer.status() === 401);
  await page.goto(`${server.origin}/#key=wrong`);
  await refused; // and nobody's own key is lost by a link that anybody can make
  await page.waitForFunction((key) => localStorage.getItem("deft.key") === key, server.key);
  await page.evaluate(() => localStorage.clear());
  await page.goto(`${server.origin}/#key=wrong`);
  await page.getByText("This server wants a key").waitFor();
  await page.getByRole("alert").getByText("does not accept this key").waitFor();
  await checkAccess(page, "the question for the key");
  await page.getByLabel("Key", { exact: true }).fill(server.key);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "What should the agent do?" }).waitFor();
  await close();
});

test("a telephone is enough", async () => {
  const id = await server.begin(
    (folder) => [
      {
        text: `A long ${"word".repeat(60)}.`,
        tool_calls: [
          {
            name: "file_editor",
            arguments: { command: "create", path: `${folder}/long.txt`, file_text: `${"x".repeat(200)}\n` },
          },
        ],
      },
      { text: "Done." },
    ],
    { confirmation_policy: { kind: "AlwaysConfirm" } },
  );
  const { page, close } = await open(server, `/c/${id}`, { width: 360, height: 640 });
  await page.getByRole("button", { name: "Allow", exact: true }).waitFor();
  await checkWidth(page);
  const question = await page.getByRole("region", { name: "Waiting for you" }).boundingBox();
  const reject = await page.getByRole("button", { name: "Reject" }).boundingBox();
  assert.ok(reject.x + reject.width <= 360 && reject.y + reject.height <= question.y + question.height, "within reach");
  await page.getByRole("button", { name: "Allow", exact: true }).click();
  await status(page, "Finished");
  await (await panel(page, "Changes")).getByText("+1 −0").waitFor();
  await checkWidth(page);
  await checkAccess(page, "changes on a telephone");
  await page.getByRole("button", { name: "Close the panel" }).click();
  await page.getByRole("button", { name: "Show conversations" }).click();
  await page.getByRole("button", { name: "New conversation" }).click();
  await page.getByRole("heading", { name: "What should the agent do?" }).waitFor();
  await checkWidth(page);
  await checkAccess(page, "a new conversation on a telephone");
  await close();
});

test("a long conversation opens at its end and keeps little in the page", { timeout: 4 * PATIENCE }, async () => {
  const think = { repeat: 400, tool_calls: [{ name: "think", arguments: { thought: "thought {{n}}" } }] };
  const id = await server.begin([think, { text: "The end." }]);
  await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`);
  await page.getByText("The end.").waitFor();
  assert.ok((await page.locator(".row-slot").count()) < 60);
  // Earlier pages are loaded when somebody gets there.
  const begin = page.getByLabel("You", { exact: true }).getByText("Begin.");
  while (!(await begin.isVisible())) {
    await page.locator(".timeline").evaluate((timeline) => timeline.scrollTo(0, 0));
    await page.waitForTimeout(50);
  }
  await page.getByRole("button", { name: "To the end" }).click();
  await page.getByText("The end.").waitFor();
  await close();
});

test("a picture goes with a message, another file into the workspace", async () => {
  const id = await server.begin([{ text: "Show me." }, { text: "I see." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const file = { name: "p.png", mimeType: "image/png", buffer: Buffer.from(pixel, "base64") };
  await page.getByLabel("Pictures and files").setInputFiles([file, { ...file, name: "my p.pdf", mimeType: "application/pdf" }]);
  const field = page.getByLabel("Message", { exact: true });
  await page.waitForFunction(() => document.querySelector(".composer textarea").value === "@uploads/my-p.pdf ");
  const { body } = await server.ask("GET", `/api/conversations/${id}`);
  assert.ok(existsSync(join(body.workspace.working_dir, "uploads/my-p.pdf")));
  await field.pressSequentially("Look.");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.getByText("I see.").waitFor();
  await page.getByLabel("You").getByRole("img").waitFor();
  const said = (await server.events(id)).filter((event) => event.kind === "MessageEvent" && event.source === "user");
  assert.deepEqual(said.at(-1).llm_message.content[1].image_urls, [`data:image/png;base64,${pixel}`]);
  await close();
});
