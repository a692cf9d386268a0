// What programs of the workspace serve, in a frame of another origin.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, checkAccess, command, open, panel, picture, Server } from "./harness.mjs";
import { modelServer } from "./model.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await browser.close();
  await server.remove();
});

/** A page that tries to get at the app, and says what came of it. */
const page = (app) => `<!doctype html><title>Shop</title><h1>The shop</h1><p id="found">…</p><script>
const tries = {
  parent: () => String(parent.document.title),
  storage: () => String(parent.localStorage.length),
  app: async () => (await fetch(${JSON.stringify(app)} + "/api/conversations/search", { credentials: "include" })).status,
  own: async () => (await fetch("/data.txt")).text(),
};
(async () => {
  const found = [];
  for (const [name, attempt] of Object.entries(tries)) {
    found.push(name + ": " + await Promise.resolve().then(attempt).catch(() => "refused"));
  }
  found.push("cookies: " + document.cookie, "origin: " + origin);
  document.getElementById("found").textContent = found.join("; ");
})();
</script>`;

test("a served port is listed, shown in a frame that cannot get at the app, loaded again and opened in a tab", async () => {
  const write = `cat > index.html <<'END'\n${page(server.origin)}\nEND\necho fresh > data.txt`;
  const serve = "nohup python3 -u -m http.server 0 --bind 127.0.0.1 > log 2>&1 & for i in $(seq 100); do grep -q port log && break; sleep 0.1; done";
  const steps = [command("I write the page.", write), command("Now it is served.", serve), { text: "The shop is up: look at it in the preview." }];
  const models = await modelServer();
  const id = await server.begin([], {
    agent: { llm: models.llm("A page for the shop", steps) },
    initial_message: { role: "user", content: [{ type: "text", text: "Put up a page for the shop." }] },
  });
  await server.ended(id);
  const { page: app, close } = await open(server, `/c/${id}`);
  const preview = await panel(app, "Preview");
  await preview.getByRole("list", { name: "Ports" }).getByRole("button").click();
  const frame = preview.frameLocator("iframe");
  await frame.getByRole("heading", { name: "The shop" }).waitFor();
  const found = frame.locator("#found", { hasText: "origin:" });
  await found.waitFor();
  const text = await found.textContent();
  assert.match(text, /parent: refused; storage: refused; app: refused; own: fresh\s*; cookies: ; origin: http:\/\/p\d+-[0-9a-f]+\.localhost:\d+$/);
  assert.equal((await server.ask("GET", `/api/conversations/${id}/ports`)).body.ports.length, 1);
  await preview.getByText(/Programs: \d+, with \d+ MB in memory/).waitFor();
  await checkAccess(app, "a preview");
  await picture(app, "web-preview");
  await server.ask("POST", `/api/conversations/${id}/bash/execute_bash_command`, { command: "echo again > data.txt" });
  await preview.getByRole("button", { name: "Reload" }).click();
  await frame.locator("#found", { hasText: "own: again" }).waitFor();
  await preview.getByLabel("Page to show").fill("data.txt");
  await app.keyboard.press("Enter");
  await frame.getByText("again").waitFor();
  await preview.getByRole("button", { name: "First page" }).click();
  await frame.getByRole("heading", { name: "The shop" }).waitFor();
  const [tab] = await Promise.all([
    app.context().waitForEvent("page"),
    preview.getByRole("button", { name: "Open in a new tab" }).click(),
  ]);
  await tab.getByRole("heading", { name: "The shop" }).waitFor();
  assert.equal(await tab.evaluate(() => window.opener), null);
  await close();
  models.close();
});

test("the agent's browser is seen live, with no event for a picture", async () => {
  const page = `<!doctype html><title>Shop</title><script>
    let n = 0; setInterval(() => { document.documentElement.style.background = "rgb(0, 160, " + (n = (n + 50) % 256) + ")" }, 100)</script>`;
  const serve = `cat > index.html <<'END'\n${page}\nEND\nnohup python3 -u -m http.server 8399 --bind 127.0.0.1 > log 2>&1 & for i in $(seq 100); do grep -q port log && break; sleep 0.1; done`;
  const look = { tool_calls: [{ name: "browser_navigate", arguments: { url: "http://127.0.0.1:8399/" } }] };
  const id = await server.begin([command("Serve.", serve), look, command("Wait.", "sleep 300")], {}, ["browser_tool_set"]);
  const { page: app, close } = await open(server, `/c/${id}`);
  const panelOf = await panel(app, "Browser");
  await panelOf.getByText("Live", { exact: true }).waitFor();
  const image = panelOf.getByRole("img", { name: "The page as the agent sees it" });
  const first = await image.getAttribute("src");
  assert.match(first, /^blob:/);
  await app.waitForFunction((src) => document.querySelector(".screenshot img")?.src !== src, first);
  // The page is green, in the picture too.
  const green = await image.evaluate(async (element) => {
    await element.decode().catch(() => {});
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    const drawing = canvas.getContext("2d");
    drawing.drawImage(element, 0, 0, 1, 1);
    return drawing.getImageData(0, 0, 1, 1).data[1];
  });
  assert.ok(green > 100, `${green}`);
  const before = (await server.events(id)).length;
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  assert.equal((await server.events(id)).length, before);
  await server.ask("POST", `/api/conversations/${id}/interrupt`);
  await close();
});
