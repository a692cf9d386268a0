// Conversations of which only the end is loaded.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browser, command, open, PATIENCE, panel, Server, status } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

const thoughts = (repeat) => ({ repeat, tool_calls: [{ name: "think", arguments: { thought: "thought {{n}}" } }] });
/** Events of the conversation that is scrolled through. */
const MANY = 10_000;
/** How long the page may be busy at once while somebody scrolls, on a busy machine. */
const LONGEST_TASK_MS = 400;

test("panels tell what happened before what is loaded", async () => {
  const plan = { command: "plan", task_list: [{ title: "Look around", notes: "", status: "in_progress" }] };
  const id = await server.begin(
    (folder) => [
      { tool_calls: [{ name: "task_tracker", arguments: plan }] },
      { tool_calls: [{ name: "file_editor", arguments: { command: "create", path: join(folder, "early.txt"), file_text: "early\n" } }] },
      command("Run.", "echo ear''ly-output"),
      thoughts(60),
      { text: "The end." },
    ],
    {},
    ["task_tracker"],
  );
  await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const tasks = await panel(page, "Tasks");
  await tasks.getByText("Look around").waitFor();
  await page.getByRole("tab", { name: "Changes" }).click();
  await page.getByRole("complementary", { name: "Changes" }).getByRole("region", { name: "early.txt" }).waitFor();
  await page.getByRole("tab", { name: "Terminal" }).click();
  await page.locator(".xterm-accessibility-tree").getByText("early-output", { exact: true }).waitFor();
  await page.getByRole("tab", { name: "Context" }).click();
  const context = page.getByRole("complementary", { name: "Context" });
  await context.getByText("Message by message").click();
  await context.getByText(/^\d+ earlier messages$/).waitFor(); // also of what is not loaded here
  await close();
});

test("10,000 events are opened at their end and scrolled through smoothly", { timeout: 20 * PATIENCE }, async () => {
  const id = await server.begin([thoughts(Math.ceil(MANY / 2)), { text: "The end." }], { max_iterations: MANY });
  await server.ended(id);
  const count = (await server.ask("GET", `/api/conversations/${id}/events/count`)).body;
  assert.ok(count >= MANY, `${count} events`);
  const { page, close } = await open(server, `/c/${id}`);
  await page.getByText("The end.").waitFor();
  const timeline = page.locator(".timeline");
  await page.evaluate(() => {
    window.longest = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
    }).observe({ type: "longtask" });
  });
  // Upwards through many pages, as a wheel does it.
  await timeline.hover();
  const first = () => page.locator(".row-slot").first().textContent();
  const end = await first();
  for (let turn = 0; turn < 150; turn += 1) {
    await page.mouse.wheel(0, -900);
    await page.waitForTimeout(16);
    assert.ok((await page.locator(".row-slot").count()) < 80, "only what is in sight is in the page");
  }
  assert.notEqual(await first(), end, "it was scrolled");
  const longest = await page.evaluate(() => window.longest);
  assert.ok(longest < LONGEST_TASK_MS, `the page was busy for ${longest} ms at once`);
  await page.getByRole("button", { name: "To the end" }).click();
  await page.getByText("The end.").waitFor();
  await close();
});
