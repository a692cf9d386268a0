// Messages on their way, the list beside them, and what stands in the cards of what was said.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, command, open, own, say, Server, status } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

test("who looks at another conversation is told, too", async () => {
  const slow = await server.begin([{ text: "One." }, { text: "word ".repeat(250), chunk_delay_ms: 100 }]);
  await server.ended(slow);
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
  const message = { role: "user", content: [{ type: "text", text: "Go on." }], run: true };
  await server.ask("POST", `/api/conversations/${slow}/events`, message);
  await page.goto(`${server.origin}/`);
  await page.locator(".entry .status", { hasText: "Working" }).waitFor();
  await page.waitForFunction(() => window.said.length > 0);
  assert.deepEqual(await page.evaluate(() => window.said), ["Begin. is finished"]);
  await close();
});

test("a message that arrived although its answer was lost is shown once", async () => {
  const id = await server.begin([{ text: "One." }, { text: "Two." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  await page.route("**/events", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    await route.fetch();
    await route.abort();
  });
  await say(page, "Go on");
  await page.getByText("Two.").waitFor();
  await own(page, "Go on").waitFor();
  assert.equal(await page.getByText("Send again").count(), 0);
  await close();
});

test("a message cannot be changed while the agent works; on a telephone Enter makes a new line", async () => {
  const id = await server.begin([{ text: "One." }, { text: "word ".repeat(300), chunk_delay_ms: 1000 }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  await own(page, "Begin.").hover();
  const edit = own(page, "Begin.").getByRole("button", { name: "Edit" });
  assert.ok(await edit.isEnabled());
  await say(page, "Go on");
  await status(page, "Working");
  assert.ok(await edit.isDisabled());
  await page.getByRole("button", { name: "Stop" }).click();
  await page.evaluate(() => {
    const real = window.matchMedia;
    window.matchMedia = (query) => (query.includes("coarse") ? { matches: true } : real.call(window, query));
  });
  await say(page, "first");
  await page.keyboard.type("second");
  assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "first\nsecond");
  await close();
});

test("a message in other words is said once, however often that is asked for while the server takes its time", async () => {
  const id = await server.begin([{ text: "One." }, { text: "Two." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  await page.route("**/navigate", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await route.continue();
  });
  await own(page, "Begin.").hover();
  await own(page, "Begin.").getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("The message, changed").fill("Begin anew.");
  await page.keyboard.press("Control+Enter");
  await page.waitForTimeout(200);
  await page.keyboard.press("Control+Enter");
  await own(page, "Begin anew.").waitFor();
  await page.waitForTimeout(1_500);
  await status(page, "Finished");
  const said = (await server.events(id)).filter(({ kind, source }) => kind === "MessageEvent" && source === "user");
  assert.equal(said.length, 2);
  await close();
});

test("what goes wrong with a conversation of the list is said", async () => {
  const id = await server.begin([{ text: "Done." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  await page.route("**/fork", (route) => route.fulfill({ status: 500, json: { detail: "No room on the disk." } }));
  await page.locator(".entry.current [aria-haspopup=menu]").click();
  await page.getByRole("menuitem", { name: "Fork" }).click();
  await page.getByRole("dialog", { name: "That did not work" }).getByText("No room on the disk.").waitFor();
  await close();
});

test("the end of a task shows the words that came with it, what it cost and what was thought", async () => {
  const id = await server.begin([
    { text: "I am done with it.", reasoning: "It passes.", cost: 0.25, tool_calls: [{ name: "finish", arguments: { message: "All works." } }] },
    { text: "You are welcome.", reasoning: "Be kind.", cost: 0.1 },
  ]);
  const { page, close } = await open(server, `/c/${id}`);
  const finish = page.getByRole("article", { name: "Agent: finished" });
  await finish.getByText("I am done with it.").waitFor();
  await finish.getByText("All works.").waitFor();
  await finish.getByText("$0.25").waitFor();
  await say(page, "Thanks");
  const reply = page.getByRole("article", { name: "Agent", exact: true }).filter({ hasText: "You are welcome." });
  await reply.getByText("Reasoning").click();
  await reply.getByText("Be kind.").waitFor();
  await close();
});

test("a goal is worked towards until what came of it is judged to be enough", async () => {
  const id = await server.begin([
    { text: "Hello." },
    command("I make it.", "sleep 3"),
    { text: "It is made." },
    { text: '{"score": 1, "complete": true, "missing": ""}' },
  ]);
  await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  await say(page, "/goal Make a shop");
  await page.getByText("It works towards a goal, round 1 of at most 10: Make a shop").waitFor();
  await own(page, "Make a shop").waitFor();
  await page.getByText("It is made.").waitFor();
  const stages = async () => {
    const { body } = await server.ask("GET", `/api/conversations/${id}/events/search?limit=100`);
    return body.items.filter((event) => event.key === "goal").map((event) => event.value.status);
  };
  while ((await stages()).at(-1) !== "complete") await new Promise((resolve) => setTimeout(resolve, 100));
  await status(page, "Finished");
  await page.getByText("It works towards a goal").waitFor({ state: "detached" });
  await close();
});
