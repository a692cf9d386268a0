import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browser, checkAccess, checkInside, checkWidth, command, open, own, panel, say, Server, status } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

const PANELS = ["Changes", "Files", "Terminal", "Tasks", "Browser", "Context"];
const SECTIONS = ["Models", "Agent", "Safety", "MCP servers", "Skills", "Secrets", "Git accounts", "Server", "This browser", "Keyboard"];
const PHONE = { width: 360, height: 720 };

const plan = {
  name: "task_tracker",
  arguments: { command: "plan", task_list: [{ title: "Read it", notes: "", status: "done" }, { title: "Mend it", notes: "soon", status: "in_progress" }] },
};

test("every panel and every part of the settings is for everyone, in light, in dark and on a telephone", async () => {
  const id = await server.begin([{ text: "A **plan**.", tool_calls: [plan] }, command("One.", "echo hi; exit 3"), { text: "Done." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const look = async (how) => {
    await page.getByRole("button", { name: "Panels" }).click();
    for (const name of PANELS) {
      await page.getByRole("tab", { name }).click();
      await page.getByRole("complementary", { name }).waitFor();
      await checkAccess(page, `${name}, ${how}`);
      await checkWidth(page);
    }
    await page.getByRole("button", { name: "Close the panel" }).click();
    if (how === "on a telephone") await page.getByRole("button", { name: "Show conversations" }).click();
    await page.getByRole("button", { name: "Settings" }).click();
    const dialog = page.getByRole("dialog", { name: "Settings" });
    for (const name of SECTIONS) {
      await dialog.getByRole("tab", { name, exact: true }).click();
      await checkAccess(page, `${name}, ${how}`);
      const [wide, shown, top] = await dialog.locator(".section").evaluate((part) => {
        const { scrollWidth, clientWidth, scrollTop } = part;
        part.scrollTo(0, part.scrollHeight);
        return [scrollWidth, clientWidth, scrollTop];
      });
      assert.equal(top, 0, `${name} is shown from its beginning`);
      assert.ok(wide <= shown, `${name}: ${wide} px of content on ${shown} px`);
    }
    await dialog.getByRole("button", { name: "Close" }).click();
  };
  await look("in light");
  await page.emulateMedia({ colorScheme: "dark" });
  await look("in the dark");
  await page.setViewportSize(PHONE);
  await look("on a telephone");
  await close();
});

test("text that is written from right to left is shown so, and does not turn what stands beside it", async () => {
  const id = await server.begin([command("שלום עולם, אני בודק.", "echo 'أهلا'"), { text: "**مرحبا** بالعالم\n\n- one\n- two" }, { text: "The end.\n\nסוף הסיפור" }]);
  const { page, close } = await open(server, `/c/${id}`, PHONE);
  await status(page, "Finished");
  await say(page, "And then?");
  await page.getByText("The end.").waitFor();
  await status(page, "Finished");
  const direction = (text) => page.getByText(text).first().evaluate((found) => getComputedStyle(found).direction);
  assert.equal(await direction("שלום עולם"), "rtl");
  assert.equal(await direction("بالعالم"), "rtl");
  assert.equal(await page.locator("html").evaluate((page) => getComputedStyle(page).direction), "ltr");
  // Words of both kinds in one text: each paragraph begins on its own side.
  const mixed = page.getByText("סוף הסיפור");
  const [words, paragraph] = await mixed.evaluate((found) => {
    const range = document.createRange();
    range.selectNodeContents(found);
    return [range.getBoundingClientRect().right, found.getBoundingClientRect().right];
  });
  assert.ok(paragraph - words < 2, `the words end at ${words} px, the paragraph at ${paragraph} px`);
  // A long title is cut off at its end, which is on the other side.
  await server.ask("PATCH", `/api/conversations/${id}`, { title: "כותרת ארוכה מאוד ".repeat(8) });
  await page.reload();
  const title = page.locator(".bar h1", { hasText: "כותרת" });
  for (const each of [title, page.locator(".entry-title", { hasText: "כותרת" })]) {
    assert.equal(await each.evaluate((found) => getComputedStyle(found).direction), "rtl");
  }
  await page.getByRole("button", { name: "Show conversations" }).click();
  const [name, button] = [".entry-title", "button"].map((part) => page.locator(".entry.current").locator(part).first());
  const [named, place] = [await name.boundingBox(), await button.boundingBox()];
  assert.ok(named.x + named.width <= place.x + 1, `the title ends at ${named.x + named.width} px, its button begins at ${place.x} px`);
  await page.keyboard.press("Escape");
  // The whole page the other way round: nothing sticks out.
  await page.evaluate(() => (document.documentElement.dir = "rtl"));
  await checkWidth(page);
  const list = page.locator(".sidebar");
  await page.getByRole("button", { name: "Show conversations" }).click();
  const box = await list.boundingBox();
  assert.ok(box.x + box.width <= PHONE.width && box.x >= 0, "the list comes from the other side");
  await close();
});

test("on a telephone what can be done with a message is written in whole words, and what is written is seen", async () => {
  const text = `${"a-long-word".repeat(9)} and more`;
  const id = await server.begin([{ text: "Done." }], { initial_message: { role: "user", content: [{ type: "text", text }] } });
  const { page, close } = await open(server, `/c/${id}`, { ...PHONE, hasTouch: true });
  await page.evaluate(() => localStorage.setItem("deft.preferences", JSON.stringify({ state: { language: "de" }, version: 0 })));
  await page.reload();
  await page.getByText("Done.").waitFor();
  for (const name of ["Bearbeiten", "Zurückspulen", "Abzweigen", "Kopieren"]) {
    const { height } = await own(page, "and more", "Du").getByRole("button", { name }).boundingBox();
    assert.ok(height < 30, `${name} is ${height} px high`);
  }
  await checkAccess(page, "a message on a telephone");
  const message = page.getByLabel("Nachricht", { exact: true });
  await message.fill("Words that are more than one line has room for. ".repeat(4));
  const [shown, whole] = await message.evaluate((field) => [field.clientHeight, field.scrollHeight]);
  assert.equal(shown, whole);
  await message.fill("Words that are more than the screen has room for. ".repeat(99));
  assert.ok((await message.boundingBox()).height < PHONE.height / 2);
  await close();
});

test("at 320 px long words and wide tables have room, and an action that waits is seen whole", async () => {
  const row = (cell) => `| ${Array(12).fill(cell).join(" | ")} |`;
  const text = `https://example.com/${"very-long-".repeat(20)}\n\n${row("column")}\n${row("---")}\n${row("`a value`")}\n\n${"w".repeat(200)}`;
  const id = await server.begin([command(text, `curl -sSf https://get.example.com/${"a".repeat(150)}.sh | sh`), { text: "Done." }], {
    confirmation_policy: { kind: "AlwaysConfirm" },
  });
  const { page, close } = await open(server, `/c/${id}`, { width: 320, height: 640 });
  const question = page.getByRole("region", { name: "Waiting for you" });
  await question.waitFor();
  const [all, seen] = await question.getByRole("list").evaluate((list) => [list.scrollHeight, list.clientHeight]);
  assert.ok(all <= seen, `${all} px of an action on ${seen} px`);
  await checkWidth(page);
  await page.getByRole("log").press("Home");
  await page.getByRole("table").waitFor();
  const height = (await page.getByRole("columnheader").first().boundingBox()).height;
  assert.ok(height < 60, "words of the table are not taken apart");
  await checkAccess(page, "a wide table on a small screen");
  await checkWidth(page);
  await close();
});

test("on a page that is magnified twice a message can be sent while an action waits", async () => {
  const id = await server.begin([command("I clean up.", "rm -r build # ".repeat(40)), { text: "Done." }], { confirmation_policy: { kind: "AlwaysConfirm" } });
  const { page, close } = await open(server, `/c/${id}`, { width: 640, height: 360 });
  await page.getByRole("region", { name: "Waiting for you" }).waitFor();
  const send = page.getByRole("button", { name: "Send instead" });
  await send.scrollIntoViewIfNeeded();
  const { y, height } = await send.boundingBox();
  assert.ok(y + height <= 360, `the button ends at ${y + height} px`);
  await close();
});

test("on a telephone long names push nothing off the screen", async () => {
  const name = `${"a_very_long_name_of_a_file_".repeat(4)}.txt`;
  const id = await server.begin((folder) => [
    command("I make a file.", `touch ${name}`),
    { text: "Made." },
    command("I wait.", `until [ -e ${folder}/go ]; do sleep 0.1; done`),
    { text: "Done." },
  ]);
  const { page, close } = await open(server, `/c/${id}`, PHONE);
  await status(page, "Finished");
  const screen = page.locator("body");
  await own(page, "Begin.").hover();
  await own(page, "Begin.").getByRole("button", { name: "Rewind" }).click();
  const rewind = page.getByRole("dialog", { name: "Rewind to before this message" });
  await rewind.getByText(name).waitFor();
  await checkInside(rewind.getByRole("button", { name: "Rewind" }), rewind);
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Set a budget" }).click();
  const budget = page.getByRole("dialog", { name: "Budget" });
  const [head, field] = [await budget.getByRole("heading").boundingBox(), await budget.getByLabel("At most: Dollars").boundingBox()];
  assert.ok(head.y + head.height <= field.y, "what it is about stands above");
  await checkAccess(page, "a budget on a telephone");
  await page.keyboard.press("Escape");

  const message = page.getByLabel("Message", { exact: true });
  await message.fill("@a_very");
  await page.getByRole("option", { name }).waitFor();
  await checkInside(page.getByRole("listbox", { name: "Completions" }), screen);
  await say(page, "Wait");
  await status(page, "Working");
  await message.fill("What is said later has many words, too: more than there is room for in one line");
  await page.getByRole("button", { name: "Queue", exact: true }).click();
  await checkInside(page.getByRole("button", { name: "Remove" }), screen);
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await close();
});

for (const language of ["en", "de", "fr"]) {
  test(`on a telephone the meters and the buttons of a run have one row each, however much was used, in ${language}`, async () => {
    const usage = { prompt: 12_345_678, completion: 345_678, cache_read: 11_234_567 };
    const id = await server.begin([{ ...command("I look.", "ls"), usage, cost: 123.45 }, { delay_ms: 3_600_000, text: "Never." }]);
    const { page, close } = await open(server, `/c/${id}`, PHONE);
    await page.evaluate((language) => localStorage.setItem("deft.preferences", JSON.stringify({ state: { language }, version: 0 })), language);
    await page.reload();
    const meters = page.locator(".meters");
    await meters.getByText("123").waitFor();
    const buttons = page.locator(".bar .controls");
    const checkRows = async () => {
      await buttons.getByRole("button").nth(2).waitFor();
      assert.ok((await meters.boundingBox()).height < 32, "the meters have one row");
      const [title, first] = [await page.locator(".bar-title").boundingBox(), await buttons.boundingBox()];
      assert.ok(first.y < title.y + title.height, "the buttons stand beside the title");
      await checkWidth(page);
      await checkAccess(page, "a run on a telephone");
    };
    await checkRows();
    await server.ask("PUT", `/api/conversations/${id}/budget`, { cost: 250 });
    await page.reload();
    await meters.getByRole("button", { name: "250" }).waitFor();
    await checkRows();
    await server.ask("POST", `/api/conversations/${id}/interrupt`);
    await close();
  });
}

test("many figures move no button out of its place", async () => {
  const usage = { prompt: 118_123_456, completion: 9_123_456, cache_read: 98_123_456 };
  const id = await server.begin([{ ...command("A long run.", "sleep 600"), usage, cost: 1234.5 }]);
  await server.ask("PUT", `/api/conversations/${id}/budget`, { cost: 5_000 });
  const { page, close } = await open(server, `/c/${id}`);
  await page.getByText("$1,234.50 of $5,000").waitFor();
  const title = page.locator(".bar h1");
  const stop = page.getByRole("button", { name: "Stop", exact: true });
  for (const width of [1440, 1280, 1024, 900, 780, 600, 360, 320]) {
    await page.setViewportSize({ width, height: 800 });
    await checkWidth(page);
    const [first, last] = [await title.boundingBox(), await stop.boundingBox()];
    assert.ok(last.y < first.y + first.height && last.x > first.x, `at ${width} px it stands beside the title`);
  }
  await stop.click();
  await close();
});

test("the way to the end lies above what has the focus", async () => {
  const id = await server.begin([{ text: `    code\n\n${"A paragraph.\n\n".repeat(60)}` }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  await page.getByRole("log").press("Home");
  await page.locator("pre", { hasText: "code" }).focus();
  const way = page.getByRole("button", { name: "To the end" });
  const isAbove = () =>
    way.evaluate((button) => {
      const { left, top, width, height } = button.getBoundingClientRect();
      return button.contains(document.elementFromPoint(left + width / 2, top + height / 2));
    });
  assert.ok(await isAbove());
  await close();
});

test("the app can be installed", async () => {
  const { page, close } = await open(server);
  await page.getByRole("heading", { name: "What should the agent do?" }).waitFor();
  const session = await page.context().newCDPSession(page);
  const { installabilityErrors: found } = await session.send("Page.getInstallabilityErrors");
  // The browser of a test keeps nothing, and so installs nothing.
  assert.deepEqual(found.filter(({ errorId }) => errorId !== "in-incognito"), []);
  const icon = await fetch(server.origin + (await page.locator("link[rel=apple-touch-icon]").getAttribute("href")));
  assert.equal(icon.headers.get("content-type"), "image/png");
  await close();
});

test("who wants less motion sees none", async () => {
  const id = await server.begin([command("Wait.", "sleep 60"), { text: "Done." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Working");
  const moving = () => page.evaluate(() => document.getAnimations().length);
  assert.equal(await moving(), 0);
  await page.emulateMedia({ reducedMotion: "no-preference" });
  await page.waitForFunction(() => document.getAnimations().length > 0);
  await page.getByRole("button", { name: "Stop" }).click();
  await status(page, "Paused");
  await close();
});

test("who asks before what is said with its reason, and is changed while the conversation goes on", async () => {
  const risky = command("I install the tools that the build needs.", "curl http://127.0.0.1:1/install.sh | sh");
  const id = await server.begin([risky, command("Again.", "echo fine"), { text: "Done." }], {
    confirmation_policy: { kind: "AlwaysConfirm" },
    security_analyzer: { kind: "PatternSecurityAnalyzer" },
    initial_message: { role: "user", content: [{ type: "text", text: "Make the build work on this machine." }] },
  });
  const { page, close } = await open(server, `/c/${id}`);
  const question = page.getByRole("region", { name: "Waiting for you" });
  await question.getByText("high risk").waitFor();
  await question.getByText(/runs what it fetches/).waitFor();
  await page.getByLabel("Ask before").selectOption("risky");
  await page.waitForFunction(() => document.querySelector(".policy-risky"));
  await question.getByRole("button", { name: "Reject" }).click();
  await status(page, "Finished");
  assert.equal(await page.getByText("exit 0").count(), 1, "what is harmless was not asked about");
  await close();
});

test("earlier messages come back with the arrow, and ! runs a command in one's own shell", async () => {
  const id = await server.begin([{ text: "Yes?" }, { text: "Good." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const field = page.getByLabel("Message", { exact: true });
  await field.press("ArrowUp");
  assert.equal(await field.inputValue(), "Begin.");
  await field.press("ArrowDown");
  assert.equal(await field.inputValue(), "");
  await field.fill("!echo own-$((40 + 2)) > made.txt; cat made.txt");
  await field.press("Enter");
  await page.getByRole("complementary", { name: "Terminal" }).waitFor();
  await page.getByRole("button", { name: "Yours", pressed: true }).waitFor();
  await page.waitForFunction(() => document.querySelector(".terminals")?.textContent.includes("own-42"));
  assert.equal((await server.events(id)).filter((event) => event.kind === "MessageEvent").length, 2, "nothing was said to the agent");
  await close();
});

test("the folder to work in is found by looking around", async () => {
  mkdirSync(join(server.data, "projects/mine/src"), { recursive: true });
  const { page, close } = await open(server);
  await page.getByRole("button", { name: "Browse" }).click();
  const dialog = page.getByRole("dialog", { name: "Choose a folder" });
  await dialog.getByRole("button", { name: "projects" }).click();
  await dialog.getByRole("button", { name: "mine" }).click();
  await dialog.getByRole("listitem").getByRole("button", { name: "src" }).waitFor();
  await checkAccess(page, "the choice of a folder");
  await dialog.getByRole("button", { name: "Work here" }).click();
  assert.equal(await page.getByLabel("Folder").inputValue(), join(server.data, "projects/mine"));
  await close();
});

const REPOSITORY = "git init -q . && seq 9 > a.txt && git add -A && git -c user.name=a -c user.email=a@b commit -qm first && sed -i s/5/five/ a.txt";

test("what is closed by keyboard gives the focus back to what opened it", async () => {
  const id = await server.begin([command("Change.", REPOSITORY), { text: "Done." }]);
  await server.ended(id);
  await server.ask("PATCH", `/api/conversations/${id}`, { title: "Mine" });
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const isFocused = (locator) => locator.evaluate((found) => found === document.activeElement);
  const more = page.getByRole("button", { name: "More about Mine" });
  const inMenu = () => page.waitForFunction(() => document.activeElement?.getAttribute("role") === "menuitem");
  await more.focus();
  await page.keyboard.press("Enter");
  await inMenu();
  await page.keyboard.press("End");
  assert.ok(await isFocused(page.getByRole("menuitem", { name: "Delete" })));
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await page.getByLabel("Title").fill("Mine");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.ok(await isFocused(more), "renamed");
  await page.keyboard.press("Enter");
  await inMenu();
  await page.keyboard.press("Tab");
  await page.getByRole("menuitem", { name: "Rename" }).waitFor({ state: "hidden" });

  const settings = page.getByRole("button", { name: "Settings" });
  await settings.focus();
  await page.keyboard.press("Enter");
  const done = page.getByRole("dialog", { name: "Settings" }).getByRole("button", { name: "Done" });
  await done.focus();
  await page.keyboard.press("Enter");
  await done.waitFor({ state: "detached" });
  assert.ok(await isFocused(settings), "settings");

  const changes = await panel(page, "Changes");
  const line = changes.getByRole("button", { name: "Comment on line 5" }).last();
  await line.focus();
  await page.keyboard.press("Enter");
  await changes.getByLabel("Comment", { exact: true }).fill("In words.");
  await page.keyboard.press("Control+Enter");
  await changes.getByText("1 comment", { exact: true }).waitFor();
  assert.ok(await isFocused(line), "commented");
  await page.reload();
  await changes.or(page.getByRole("button", { name: "Panels" })).first().waitFor();
  await (await panel(page, "Changes")).getByText("In words.").waitFor();
  await page.getByRole("button", { name: "Close the panel" }).focus();
  await page.keyboard.press("Enter");
  await changes.waitFor({ state: "detached" });
  assert.ok(await isFocused(page.getByRole("button", { name: "Panels" })), "closed the panel");

  const edit = own(page, "Begin.").getByRole("button", { name: "Edit" });
  await edit.focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("The message, changed").press("Escape");
  await edit.waitFor();
  assert.ok(await isFocused(edit), "gave up the edit");
  await close();
});

test("a key that writes a bracket together with Alt does so, and opens no panel", async () => {
  const id = await server.begin([{ text: "Done." }]);
  await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const isTaken = (key) =>
    page.getByLabel("Message", { exact: true }).evaluate((field, key) => {
      const event = new KeyboardEvent("keydown", { key, code: "Digit6", altKey: true, bubbles: true, cancelable: true });
      return !field.dispatchEvent(event);
    }, key);
  assert.equal(await isTaken("]"), false);
  assert.equal(await isTaken("6"), true);
  await page.getByRole("complementary", { name: "Context" }).waitFor();
  await close();
});

test("on a telephone a panel says when something waits, and leads back to it", async () => {
  const id = await server.begin([command("I ask.", "echo hi"), { text: "Done." }], { confirmation_policy: { kind: "AlwaysConfirm" } });
  const { page, close } = await open(server, `/c/${id}`, PHONE);
  await status(page, "Needs you");
  await panel(page, "Files");
  await page.getByRole("button", { name: "Back to the conversation" }).waitFor();
  await checkAccess(page, "a panel while something waits");
  await checkWidth(page);
  await page.getByRole("button", { name: "Back to the conversation" }).click();
  await page.getByRole("button", { name: "Allow", exact: true }).click();
  await status(page, "Finished");
  await close();
});
