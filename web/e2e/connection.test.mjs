// Connections that die without a word.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { after, before, test } from "node:test";
import { browser, command, open, Server, status } from "./harness.mjs";

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
