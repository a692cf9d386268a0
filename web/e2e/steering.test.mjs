// How a run is steered: what is said later, what it may do and use, and what it has to plan first.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { beginInProject, browser, checkAccess, checkWidth, command, open, say, Server, status } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

/** What the user said, in its order. */
const said = async (id) => {
  const own = (await server.events(id)).filter((event) => event.kind === "MessageEvent" && event.source === "user");
  return own.map((event) => event.llm_message.content[0].text);
};

test("messages that wait are changed, put in order, taken out, and said when the turn ends", async () => {
  const id = await server.begin((folder) => [
    command("I wait.", `until [ -e ${folder}/go ]; do sleep 0.1; done`),
    { text: "First turn." },
    { text: "Second turn." },
    { text: "Third turn." },
  ]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Working");
  const message = page.getByLabel("Message", { exact: true });
  const queue = page.getByRole("region", { name: "Messages that wait" });
  const row = (text) => queue.getByRole("listitem").filter({ hasText: text });
  for (const text of ["one", "two"]) {
    await message.fill(text);
    await page.keyboard.press("Alt+Enter");
    await row(text).waitFor();
  }
  await message.fill("three");
  await page.getByRole("button", { name: "Queue", exact: true }).click();
  await row("three").waitFor();
  await checkAccess(page, "messages that wait");
  await page.setViewportSize({ width: 360, height: 640 });
  await checkWidth(page);
  await row("two").getByRole("button", { name: "Remove" }).waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });

  await row("two").getByRole("button", { name: "Earlier" }).click();
  await queue.getByRole("listitem").first().filter({ hasText: "two" }).waitFor();
  await row("one").getByRole("button", { name: "Remove" }).click();
  await row("one").waitFor({ state: "detached" });
  await row("three").getByRole("button", { name: "Edit" }).click();
  await queue.getByLabel("The message, changed").fill("four");
  await queue.getByRole("button", { name: "Save" }).click();
  await row("four").waitFor();
  await page.reload();
  await row("four").waitFor();
  assert.deepEqual(await said(id), ["Begin."], "nothing is said yet");

  const { body } = await server.ask("GET", `/api/conversations/${id}`);
  await server.ask("POST", `/api/conversations/${id}/bash/execute_bash_command`, {
    command: "touch go",
    cwd: body.workspace.working_dir,
  });
  await page.getByText("Third turn.").waitFor();
  await queue.waitFor({ state: "detached" });
  await status(page, "Finished");
  assert.deepEqual(await said(id), ["Begin.", "two", "four"]);
  await close();
});

test("nothing is changed before the plan is approved, and it runs as the user changed it", async () => {
  const id = await server.begin((folder) => [
    { text: "Hello." },
    {
      tool_calls: [
        {
          name: "planning_file_editor",
          arguments: { command: "create", path: `${folder}/.agents_tmp/PLAN.md`, file_text: `# Steps\n\n- Make **wrong**.\n${"- And more.\n".repeat(30)}` },
        },
      ],
    },
    { text: "Planned." },
    command("I do it.", "cp .agents_tmp/PLAN.md made"),
    { text: "Done." },
  ]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  await page.getByRole("button", { name: "Plan first" }).click();
  const plan = page.getByRole("region", { name: "The plan" });
  await plan.getByText("Nothing is planned yet.").waitFor();
  await page.getByLabel("Message", { exact: true }).fill("Plan it");
  await page.keyboard.press("Enter");
  await plan.getByText("wrong").waitFor();
  await checkAccess(page, "a plan");
  assert.equal(await plan.getByRole("list").evaluate((list) => getComputedStyle(list).listStyleType), "disc");
  await page.setViewportSize({ width: 360, height: 640 });
  const send = await page.getByRole("button", { name: "Send", exact: true }).boundingBox();
  assert.ok(send.y + send.height <= 640, `the button that sends ends at ${send.y + send.height} px`);
  await page.setViewportSize({ width: 1280, height: 800 });
  await plan.getByRole("button", { name: "Edit" }).click();
  await plan.getByLabel("The plan, changed").fill("Make it right.");
  await plan.getByRole("button", { name: "Approve and run" }).click();
  await page.getByText("Done.").waitFor();
  await status(page, "Finished");
  await plan.waitFor({ state: "detached" });
  const { body } = await server.ask("GET", `/api/conversations/${id}`);
  assert.equal(readFileSync(join(body.workspace.working_dir, "made"), "utf8"), "Make it right.");
  await close();
});

test("a conversation can begin with a plan", async () => {
  const { page, close } = await open(server, "/");
  await page.getByLabel("Model", { exact: true }).fill("demo");
  await page.getByLabel("Task").fill("Say hello.");
  await page.getByLabel("Plan first: change nothing until I approve the plan").check();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/\/c\//);
  const id = new URL(page.url()).pathname.slice(3);
  assert.equal((await server.ask("GET", `/api/conversations/${id}/plan`)).body.mode, "plan");
  await page.getByLabel("You", { exact: true }).filter({ hasText: "Say hello." }).waitFor();
  await close();
});

test("a conversation that stopped at its budget gets more where it stopped", async () => {
  const id = await server.begin([
    { text: "Hello.", cost: 0.5 },
    { repeat: 2, tool_calls: [{ name: "terminal", arguments: { command: "true {{n}}" } }], cost: 1 },
    { text: "Done." },
  ]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const meter = page.getByLabel("Used so far");
  await meter.getByRole("button", { name: "Set" }).click();
  const dialog = page.getByRole("dialog", { name: "Budget" });
  await dialog.getByLabel("At most: Dollars").fill("1.2");
  await checkAccess(page, "a budget");
  await dialog.getByRole("button", { name: "Save" }).click();
  await meter.getByRole("button", { name: "$0.50 of $1.20" }).waitFor();
  await page.getByLabel("Message", { exact: true }).fill("Go on");
  await page.keyboard.press("Enter");
  const failure = page.getByRole("article", { name: "Error" });
  await failure.getByText("MaxBudgetReached").waitFor();
  await failure.getByLabel("Dollars").fill("3");
  await checkAccess(page, "a budget that is spent");
  await failure.getByRole("button", { name: "Add and go on" }).click();
  await page.getByText("Done.").waitFor();
  await status(page, "Finished");
  await meter.getByRole("button", { name: "$2.50 of $4.20" }).waitFor();
  await page.reload();
  await meter.getByRole("button", { name: "$2.50 of $4.20" }).waitFor();
  await close();
});

test("a circle is left by going back to before it, and the work stays", async () => {
  const id = await server.begin([
    command("Before.", "echo done > work"),
    { repeat: 12, tool_calls: [{ name: "terminal", arguments: { command: "false" } }] },
  ]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Going in circles");
  const failure = page.getByRole("article", { name: "Error" });
  await failure.getByRole("button", { name: "Rewind to before the circle" }).waitFor();
  await page.reload();
  await failure.getByRole("button", { name: "Rewind to before the circle" }).click();
  await failure.waitFor({ state: "detached" });
  await page.getByText("Before.").waitFor();
  const { body } = await server.ask("GET", `/api/conversations/${id}`);
  assert.equal(readFileSync(join(body.workspace.working_dir, "work"), "utf8"), "done\n");
  await close();
});

test("a command that is allowed by its beginning is not asked about again", async () => {
  const id = await server.begin([command("One.", "touch one"), command("Two.", "touch one two"), { text: "Done." }], {
    confirmation_policy: { kind: "AlwaysConfirm" },
  });
  const { page, close } = await open(server, `/c/${id}`);
  const question = page.getByRole("region", { name: "Waiting for you" });
  await question.getByText("Allow such commands from now on").click();
  const rule = question.getByLabel("Those that begin with");
  assert.equal(await rule.inputValue(), "touch one");
  await rule.fill("sudo");
  await question.getByRole("button", { name: "In this project" }).click();
  await question.getByRole("alert").waitFor();
  await rule.fill("touch");
  await checkAccess(page, "a rule");
  await question.getByRole("button", { name: "In this project" }).click();
  await page.getByText("Done.").waitFor();
  const { rules } = (await server.ask("GET", `/api/conversations/${id}/allow_rules`)).body;
  assert.deepEqual(rules, [{ rule: "touch", scope: "project" }]);
  await close();
});

test("a host that no rule names is asked for, and the agent hears what was answered", async () => {
  const id = await server.begin([{ text: "Hello." }, command("Looking.", "curl -sS https://unlisted.example"), { text: "Done." }]);
  const { page, close } = await open(server, `/c/${id}`); // only who is there is asked
  await status(page, "Finished");
  await say(page, "Look at it");
  const question = page.getByRole("region", { name: "A program wants to reach the network" });
  await question.getByText("unlisted.example:443").waitFor();
  await checkAccess(page, "a question for a host");
  await question.getByRole("button", { name: "Deny" }).click();
  await question.waitFor({ state: "detached" });
  await status(page, "Finished");
  const answer = (await server.events(id)).find((event) => event.kind === "ObservationEvent");
  assert.match(JSON.stringify(answer), /asked for unlisted\.example:443 and has refused/);
  await close();
});

test("a host that was allowed is listed in the settings, and taken back there", async () => {
  const id = await server.begin([{ text: "Hello." }, command("Looking.", "curl -sS -m 5 https://allowed.example"), { text: "Done." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  await say(page, "Look at it");
  const question = page.getByRole("region", { name: "A program wants to reach the network" });
  await question.getByText("allowed.example:443").waitFor();
  await question.getByRole("button", { name: "In this conversation" }).click();
  await question.waitFor({ state: "detached" });
  await status(page, "Finished");
  await page.getByRole("button", { name: "Settings", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Settings" });
  await dialog.getByRole("tab", { name: "Safety" }).click();
  const hosts = dialog.getByRole("group", { name: "Hosts that are allowed" });
  await hosts.getByText("allowed.example").waitFor();
  await hosts.getByText("in this conversation").waitFor();
  await checkAccess(page, "hosts that are allowed");
  await hosts.getByRole("button", { name: /^Remove/ }).click();
  await hosts.getByText("There are none yet.").waitFor();
  const { rules } = (await server.ask("GET", `/api/conversations/${id}/allowed_hosts`)).body;
  assert.deepEqual(rules, []);
  await close();
});

test("a message that could not be queued stays to be sent again, with its pictures, and in nobody's way", async () => {
  const id = await server.begin([command("Wait.", "sleep 300"), { text: "Done." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Working");
  await page.route("**/queue", (route) => (route.request().method() === "POST" ? route.abort() : route.continue()));
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  await page.getByLabel("Pictures and files").setInputFiles({ name: "a.png", mimeType: "image/png", buffer: Buffer.from(png, "base64") });
  const attached = page.getByRole("button", { name: "Remove picture 1" });
  await attached.waitFor();
  await page.getByLabel("Message", { exact: true }).fill("Later, please");
  await page.getByRole("button", { name: "Queue" }).click();
  await page.getByLabel("Message", { exact: true }).fill("What is written meanwhile");
  const unsent = page.getByLabel("Your message, not sent yet");
  await unsent.getByRole("alert").filter({ hasText: "cannot be reached" }).waitFor();
  await unsent.getByRole("img").waitFor();
  await page.unroute("**/queue");
  await unsent.getByRole("button", { name: "Send again" }).click();
  await page.getByRole("region", { name: "Messages that wait" }).getByText("Later, please").waitFor();
  await unsent.waitFor({ state: "detached" });
  const { body } = await server.ask("GET", `/api/conversations/${id}/queue`);
  assert.equal(body.queue[0].message.content.at(-1).image_urls.length, 1);
  assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "What is written meanwhile");
  await close();
});

test("a message that waits does not vanish with an answer from before it was queued", async () => {
  const id = await server.begin([command("Wait.", "sleep 300"), { text: "Done." }]);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Working");
  let hold;
  const held = new Promise((resolve) => (hold = resolve));
  await page.route("**/queue", async (route) => {
    if (route.request().method() === "POST") return route.continue();
    const before = await route.fetch();
    hold(() => route.fulfill({ response: before }));
  });
  const release = await held;
  await page.getByLabel("Message", { exact: true }).fill("Later, please");
  await page.keyboard.press("Alt+Enter");
  const row = page.getByRole("region", { name: "Messages that wait" }).getByText("Later, please");
  await row.waitFor();
  await release().catch(() => {}); // nobody may want it any more
  await page.waitForTimeout(500);
  assert.ok(await row.isVisible());
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await close();
});

test("the scripts that a project's hooks run are shown before they are allowed", async () => {
  const id = await server.begin([{ text: "Done." }], { agent: { agent_context: { load_project_skills: true } } }, [], (folder) => {
    mkdirSync(join(folder, ".openhands"));
    writeFileSync(join(folder, ".openhands/hooks.json"), JSON.stringify({ stop: [{ hooks: [{ command: "sh checks/all.sh" }] }] }));
    mkdirSync(join(folder, "checks"));
    writeFileSync(join(folder, "checks/all.sh"), "echo checked by a script\n");
  });
  const { page, close } = await open(server, `/c/${id}`);
  const question = page.getByRole("region", { name: "May the project do this?" });
  await question.getByText("What it runs: checks/all.sh").click();
  await question.getByText("echo checked by a script").waitFor();
  await close();
});

test("what a project would run is shown and decided about", async () => {
  const id = await beginInProject(server);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const question = page.getByRole("region", { name: "May the project do this?" });
  await question.getByText(".agents/skills/count/SKILL.md").waitFor();
  await question.getByText("What is in it").click();
  await question.getByText("echo 6 7").waitFor();
  await checkAccess(page, "what a project brings along");
  const answered = (method) =>
    page.waitForResponse((answer) => answer.url().endsWith("/trust") && answer.request().method() === method);
  const decided = answered("POST");
  await question.getByRole("button", { name: "Allow" }).click();
  assert.equal((await decided).status(), 200);
  await question.waitFor({ state: "detached" });
  const listed = answered("GET");
  await page.reload();
  await (await listed).finished();
  await status(page, "Finished");
  assert.equal(await question.count(), 0, "it is not asked twice");
  await close();
});
