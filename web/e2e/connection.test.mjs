// Connections that die without a word.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { after, before, test } from "node:test";
import { browser, command, open, own, panel, say, Server, status } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

/** A way to the server on which what is connected can fall silent without being closed, as it does for a machine that sleeps. */
async function fragileWay() {
  const pairs = new Set();
  const way = createServer((near) => {
    const far = connect(server.port, "127.0.0.1");
    const pair = [near, far];
    pairs.add(pair);
    near.pipe(far).pipe(near);
    for (const each of pair) each.on("error", () => {}).on("close", () => pairs.delete(pair) && pair.forEach((one) => one.destroy()));
  });
  way.listen(0, "127.0.0.1");
  await once(way, "listening");
  return {
    origin: `http://127.0.0.1:${way.address().port}`,
    silence() {
      for (const [near, far] of pairs) {
        near.unpipe();
        far.unpipe();
      }
    },
    close() {
      way.close();
      for (const pair of pairs) for (const each of pair) each.destroy();
    },
  };
}

test("a laptop that slept shows what happened meanwhile by itself, without gap or double", async () => {
  const way = await fragileWay();
  const id = await server.begin([command("One.", "echo one"), { text: "Done at first." }, { text: "Done in the night." }]);
  await server.ended(id);
  const { page, close } = await open({ origin: way.origin, key: server.key }, `/c/${id}`);
  await page.clock.install();
  await page.reload();
  await status(page, "Finished");
  await page.waitForFunction(() => document.querySelector('[role="log"]')?.getAttribute("aria-busy") === "false");
  way.silence();
  const message = { role: "user", content: [{ type: "text", text: "Go on." }], run: true };
  await server.ask("POST", `/api/conversations/${id}/events`, message);
  const isSaid = async () => JSON.stringify(await server.events(id)).includes("Done in the night.");
  while (!(await isSaid())) await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(await page.getByText("Done in the night.").count(), 0, "the connection is dead");
  await page.clock.fastForward("08:00:00");
  await page.getByText("Done in the night.").waitFor();
  assert.equal(await page.getByText("Done at first.").count(), 1);
  assert.equal(await page.getByText("Done in the night.").count(), 1);
  way.close();
  await close();
});

test("a connection that is closed because the key came too late, as from a frozen tab, is made anew with the same key", async () => {
  const id = await server.begin([{ text: "Done." }]);
  await server.ended(id);
  const { page, close } = await open(server, "/");
  let times = 0;
  await page.routeWebSocket(/\/sockets\/session\//, (socket) => {
    times += 1;
    if (times === 1) socket.close({ code: 4001, reason: "Authentication failed" });
    else socket.connectToServer();
  });
  await page.goto(`${server.origin}/c/${id}`);
  await page.waitForFunction(() => document.querySelector('[role="log"]')?.getAttribute("aria-busy") === "false");
  await page.getByText("Done.").waitFor();
  assert.ok(times > 1);
  await close();
});

test("an earlier page that could not be loaded is loaded by itself", async () => {
  const think = { repeat: 100, tool_calls: [{ name: "think", arguments: { thought: "thought {{n}}" } }] };
  const id = await server.begin([think, { text: "The end." }]);
  await server.ended(id);
  const { page, close } = await open(server, "/");
  let failures = 0;
  await page.route(/\/history\?.*before_seq/, (route) => {
    if (failures >= 2) return route.continue();
    failures += 1;
    return route.fulfill({ status: 503, json: { detail: "not now" } });
  });
  await page.goto(`${server.origin}/c/${id}`);
  await page.getByText("The end.").waitFor();
  const begin = page.getByLabel("You", { exact: true }).getByText("Begin.");
  while (!(await begin.isVisible())) {
    await page.locator(".timeline").evaluate((timeline) => timeline.scrollTo(0, 0));
    await page.waitForTimeout(50);
  }
  assert.equal(failures, 2);
  await close();
});

test("a part of the app that cannot be loaded says so, and the rest goes on", async () => {
  const id = await server.begin([{ text: "```js\nlet x = 1;\n```" }]);
  await server.ended(id);
  const { page, close } = await open(server, "/");
  await page.route(/assets\/(Settings|Panel|Coloured)-[^/]*\.js$/, (route) => route.abort());
  await page.goto(`${server.origin}/c/${id}`);
  await page.locator("pre", { hasText: "let x = 1;" }).waitFor();
  await page.getByRole("button", { name: "Settings" }).click();
  const dialog = page.getByRole("dialog", { name: "That did not work" });
  await dialog.getByRole("button", { name: "Reload" }).waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Panels" }).click();
  await page.getByText("This part of the app has failed").waitFor();
  await page.getByRole("button", { name: "Panels" }).click();
  await page.getByLabel("Message", { exact: true }).fill("Still here.");
  await page.locator("pre", { hasText: "let x = 1;" }).waitFor();
  await close();
});

test("what is typed before a dialog is loaded does not get into the message", async () => {
  const id = await server.begin([{ text: "Done." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  let load;
  await page.route("**/assets/Palette-*.js", async (route) => {
    await new Promise((resolve) => (load = resolve));
    await route.continue();
  });
  const message = page.getByLabel("Message", { exact: true });
  await message.click();
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "Loading…" }).getByText("Loading…").waitFor();
  await page.keyboard.type("settings");
  await page.keyboard.press("Enter");
  load();
  const palette = page.getByRole("dialog", { name: "Commands" });
  await palette.getByPlaceholder("What next?").fill("settings");
  await page.keyboard.press("Escape");
  await palette.waitFor({ state: "detached" });
  assert.equal(await message.inputValue(), "");
  assert.ok(await message.evaluate((field) => field === document.activeElement), "what had the focus has it again");
  assert.equal((await server.events(id)).filter(({ source }) => source === "user").length, 1);
  await close();
});

test("what could not be sent is there after a reload, and is said once", async () => {
  const id = await server.begin([{ text: "One." }, { text: "Two." }]);
  await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const isSent = (url) => url.pathname.endsWith("/events");
  await page.route(isSent, (route) => (route.request().method() === "POST" ? route.abort() : route.continue()));
  await say(page, "A precious message");
  await page.getByText("Not sent.").waitFor();
  await page.unroute(isSent);
  await page.reload();
  await page.getByText("A precious message").waitFor();
  await page.getByRole("button", { name: "Send again" }).click();
  await page.getByText("Two.").waitFor();
  await own(page, "A precious message").waitFor();
  await page.reload();
  await page.getByText("Two.").waitFor();
  assert.equal(await page.getByText("A precious message").count(), 1);
  await close();
});

test("a message that is to wait is there after a reload while it was on its way, and waits once", async () => {
  const id = await server.begin((folder) => [
    command("I wait.", `until [ -e ${folder}/go ]; do sleep 0.1; done`),
    { text: "One." },
  ]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Working");
  const isQueued = (url) => url.pathname.endsWith("/queue");
  const held = [];
  await page.route(isQueued, (route) => (route.request().method() === "POST" ? void held.push(route) : route.continue()));
  const unsent = page.getByLabel("Your message, not sent yet");
  const queue = page.getByRole("region", { name: "Messages that wait" });
  await page.getByLabel("Message", { exact: true }).fill("A precious thought");
  await page.keyboard.press("Alt+Enter");
  await unsent.getByText("Sending…").waitFor();
  await page.reload();
  await unsent.getByText("Not sent.").waitFor();
  // The answer is lost, and not what was asked.
  await page.unroute(isQueued);
  await page.route(isQueued, async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    await route.fetch();
    return route.abort();
  });
  await unsent.getByRole("button", { name: "Send again" }).click();
  await queue.getByRole("listitem").filter({ hasText: "A precious thought" }).waitFor();
  await unsent.waitFor({ state: "detached" });
  const { body } = await server.ask("GET", `/api/conversations/${id}/queue`);
  assert.equal(body.queue.length, 1);
  assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "");
  await page.unroute(isQueued);
  await close();
});

test("nothing is said of a conversation before something is known", async () => {
  const id = await server.begin([{ text: "One." }]);
  await server.ended(id);
  const { page, close } = await open(server);
  let answer;
  const isOpen = new Promise((resolve) => (answer = resolve));
  await page.route("**/api/conversations/**", (route) => isOpen.then(() => route.continue()));
  await page.goto(`${server.origin}/c/${id}`);
  await page.getByRole("log").getByText("Loading…").waitFor();
  const changes = await panel(page, "Changes");
  await changes.getByText("Loading…").waitFor();
  assert.equal(await page.locator(".bar .status, .bar .meters").count(), 0);
  assert.equal(await page.title(), "Conversation · Deft");
  answer();
  await status(page, "Finished");
  await changes.getByText("Nothing has changed.").waitFor();
  await close();
});

test("who gets no stream reads what happened, and how it stands", async () => {
  const id = await server.begin([{ text: "One." }]);
  await server.ended(id);
  const { page, close } = await open(server);
  await page.routeWebSocket(/\/sockets\/session\//, (socket) => socket.close({ code: 4500 }));
  await page.goto(`${server.origin}/c/${id}`);
  await page.getByText("The connection is lost").waitFor();
  await page.getByText("One.", { exact: true }).waitFor();
  await status(page, "Finished");
  await close();
});
