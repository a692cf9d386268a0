// What cards show, and what comes and goes with them.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { beginInProject, browser, checkAccess, command, open, own, panel, PATIENCE, Server, status } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

test("a search shows how many files it found, and which", async () => {
  const steps = [
    command("Make.", "echo needle > one.txt; echo needle > two.txt"),
    { tool_calls: [{ name: "grep", arguments: { pattern: "needle" } }] },
    { text: "Found." },
  ];
  const id = await server.begin(steps, {}, ["grep"]);
  await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const search = page.getByRole("article", { name: "Search" });
  await search.getByText("2 files").waitFor();
  await search.getByRole("button", { name: /needle/ }).click();
  await search.getByText("two.txt").waitFor();
  await checkAccess(page, "the card of a search");
  await close();
});

test("a patch is shown file by file in its colours, before and after it is done, and what it changed is listed", { timeout: 4 * PATIENCE }, async () => {
  const name = "a_name_that_is_longer_than_the_screen_of_a_telephone_is_wide.py";
  const patch = `*** Begin Patch\n*** Add File: ${name}\n+def run():\n+    return 1\n*** Delete File: b.txt\n*** End Patch\n`;
  const steps = [{ tool_calls: [{ name: "apply_patch", arguments: { patch } }] }, { text: "Done." }];
  const id = await server.begin(steps, { confirmation_policy: { kind: "AlwaysConfirm" } }, ["apply_patch"], (folder) =>
    writeFileSync(join(folder, "b.txt"), "words\n"),
  );
  const { page, close } = await open(server, `/c/${id}`);
  const question = page.getByRole("region", { name: "Waiting for you" });
  await question.locator(".added .hljs-keyword", { hasText: "def" }).waitFor();
  const [first, second] = [await question.locator(".added").first().boundingBox(), await question.locator(".added").last().boundingBox()];
  assert.equal(first.height, second.height, "colours break no line");
  await checkAccess(page, "a patch that waits");
  await page.setViewportSize({ width: 360, height: 720 });
  const [all, seen] = await question.locator(".card-title").evaluate((title) => [title.scrollWidth, title.clientWidth]);
  assert.ok(all <= seen && seen > 200, `the names of the files have ${seen} px for ${all} px`);
  await page.setViewportSize({ width: 1280, height: 800 });
  await question.getByRole("button", { name: "Allow", exact: true }).click();
  await status(page, "Finished");
  const card = page.getByRole("article", { name: "Patch" });
  await card.locator(".added .hljs-keyword", { hasText: "def" }).waitFor();
  await card.locator(".removed", { hasText: "words" }).first().waitFor();
  await checkAccess(page, "a patch");
  const changes = await panel(page, "Changes");
  await changes.getByRole("region", { name }).getByText("+2").waitFor();
  const gone = changes.getByRole("region", { name: "b.txt" });
  await gone.getByRole("button", { name: "Revert" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revert" }).click();
  const { body } = await server.ask("GET", `/api/conversations/${id}`);
  const file = join(body.workspace.working_dir, "b.txt");
  while (!existsSync(file) || readFileSync(file, "utf8") !== "words\n") await new Promise((resolve) => setTimeout(resolve, 100));
  await close();
});

test("the picture of a page is in its card", async (t) => {
  const site = createServer((_, response) => response.setHeader("Content-Type", "text/html").end("<h1>A page</h1>"));
  site.listen(0, "127.0.0.1");
  t.after(() => site.close());
  await once(site, "listening");
  const url = `http://127.0.0.1:${site.address().port}/`;
  const id = await server.begin(
    [
      { tool_calls: [{ name: "browser_navigate", arguments: { url } }] },
      { tool_calls: [{ name: "browser_get_state", arguments: { include_screenshot: true } }] },
      { text: "Seen." },
    ],
    {},
    ["browser_tool_set"],
  );
  await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const card = page.getByRole("article", { name: "Browser" }).last();
  await card.getByRole("button").first().click();
  await card.getByRole("img").last().waitFor();
  const width = await card.locator("img").evaluate((image) => image.naturalWidth);
  assert.ok(width > 100, `${width} px`);
  await close();
});

test("pictures are pasted, and other files dropped", async () => {
  const id = await server.begin([{ text: "Show me." }]);
  const { workspace } = await server.ended(id);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const bring = (kind, name, type, place = page.getByLabel("Message", { exact: true })) =>
    place.evaluate(
      async (field, [kind, name, type]) => {
        const canvas = Object.assign(document.createElement("canvas"), { width: 4, height: 4 });
        const picture = await new Promise((resolve) => canvas.toBlob(resolve));
        const brought = new DataTransfer();
        brought.items.add(new File([type.startsWith("image/") ? picture : "text"], name, { type }));
        const init = { bubbles: true, cancelable: true };
        const event =
          kind === "paste"
            ? new ClipboardEvent("paste", { ...init, clipboardData: brought })
            : new DragEvent("drop", { ...init, dataTransfer: brought });
        field.dispatchEvent(event);
      },
      [kind, name, type],
    );
  await bring("paste", "p.png", "image/png");
  await page.locator(".composer img").waitFor();
  await bring("drop", "notes.csv", "text/csv");
  await page.waitForFunction(() => document.querySelector(".composer textarea").value.includes("@uploads/notes.csv"));
  assert.ok(existsSync(join(workspace.working_dir, "uploads/notes.csv")));
  await bring("drop", "beside.csv", "text/csv", page.getByRole("heading", { level: 1 }));
  await page.waitForFunction(() => document.querySelector(".composer textarea").value.includes("@uploads/beside.csv"));
  await close();
});

test("only the files go back, or only the conversation", async () => {
  const id = await server.begin([
    command("Make.", "echo kept > kept.txt"),
    { text: "Made." },
    command("Spoil.", "echo spoilt > kept.txt"),
    { text: "Spoilt." },
  ]);
  const { workspace } = await server.ended(id);
  const file = () => readFileSync(join(workspace.working_dir, "kept.txt"), "utf8");
  const { page, close } = await open(server, `/c/${id}`);
  await page.getByText("Made.").waitFor();
  await page.getByLabel("Message", { exact: true }).fill("Spoil it");
  await page.keyboard.press("Enter");
  await page.getByText("Spoilt.").waitFor();
  await status(page, "Finished");
  const rewind = async (what) => {
    await own(page, "Spoil it").hover();
    await own(page, "Spoil it").getByRole("button", { name: "Rewind" }).click();
    const dialog = page.getByRole("dialog", { name: "Rewind to before this message" });
    await dialog.getByLabel(what).check();
    await dialog.getByRole("button", { name: "Rewind" }).click();
    await dialog.waitFor({ state: "detached" });
  };
  await rewind("Only the files");
  assert.equal(file(), "kept\n");
  await page.getByText("Spoilt.").waitFor();
  writeFileSync(join(workspace.working_dir, "kept.txt"), "other\n");
  await rewind("Only the conversation");
  await own(page, "Spoil it").waitFor({ state: "detached" });
  assert.equal(file(), "other\n");
  await close();
});

test("a decision about what a project brings along is forgotten, and asked for again", async () => {
  const id = await beginInProject(server);
  const { page, close } = await open(server, `/c/${id}`);
  await status(page, "Finished");
  const question = page.getByRole("region", { name: "May the project do this?" });
  await question.getByRole("button", { name: "Allow" }).click();
  await question.waitFor({ state: "detached" });
  const other = await open(server, `/c/${id}`); // another browser, which knows nothing of it
  await other.page.getByRole("button", { name: "Settings", exact: true }).click();
  const dialog = other.page.getByRole("dialog", { name: "Settings" });
  await dialog.getByRole("tab", { name: "Safety" }).click();
  const decisions = dialog.getByRole("group", { name: "What projects may bring along" });
  await decisions.getByText(".agents/skills/count/SKILL.md").waitFor();
  await decisions.getByRole("button", { name: /^Forget about/ }).click();
  await decisions.getByText("Nothing was decided yet.").waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.reload();
  await question.waitFor();
  await close();
});
