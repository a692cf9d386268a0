// A real server, a real Chromium, and a page that fails its test when it breaks the content policy, throws, or
// asks another host for anything.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);
const { DEFT_BINARY, DEFT_PICTURES } = process.env;
const PICTURES = new URL("../../docs/images/", import.meta.url).pathname;
/** How long the page may take to show what is expected, on a busy machine. */
export const PATIENCE = 30_000;

export const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });

export class Server {
  data = mkdtempSync(join(tmpdir(), "deft-e2e-"));
  port = 0;

  /** `more`: variables for the server. */
  constructor(more = {}) {
    this.more = more;
  }

  async start() {
    // No model of the machine's owner, and no key, may get into a test.
    const env = { PATH: process.env.PATH, HOME: this.data, ...this.more };
    const args = ["serve", "--port", String(this.port), "--data-dir", join(this.data, "data")];
    this.process = spawn(DEFT_BINARY, args, { cwd: this.data, env, stdio: ["ignore", "pipe", "inherit"] });
    const [line] = await once(createInterface(this.process.stdout), "line");
    const [, address] = /ready at (http:\S+)/.exec(line);
    this.port = Number(new URL(address).port);
    this.link ??= address;
    this.origin = new URL(address).origin;
    return this;
  }

  async stop(signal = "SIGTERM") {
    const ended = once(this.process, "exit");
    this.process.kill(signal);
    await ended;
  }

  /** Ends it with all it started, executors included: those outlive a server that is only stopped. */
  async remove() {
    const { body } = await this.ask("GET", "/api/conversations/search?limit=100");
    for (const { id } of body.items) {
      await this.ask("POST", `/api/conversations/${id}/pause`); // only what is loaded is deleted with its executor
      await this.ask("DELETE", `/api/conversations/${id}`);
    }
    await this.stop();
    rmSync(this.data, { recursive: true, force: true });
  }

  get key() {
    return new URLSearchParams(new URL(this.link).hash.slice(1)).get("key");
  }

  async ask(method, path, body) {
    const headers = { "X-Session-API-Key": this.key, "Content-Type": "application/json" };
    const answer = await fetch(this.origin + path, { method, headers, body: body && JSON.stringify(body) });
    return { status: answer.status, body: await answer.json() };
  }

  /** Begins a conversation with a scripted model; the script is JSON, which is YAML too. `fill`: puts files there first. */
  async begin(steps, { agent, ...more } = {}, tools = [], fill = () => {}) {
    const folder = mkdtempSync(join(this.data, "work-"));
    fill(folder);
    const script = `${folder}.json`;
    writeFileSync(script, JSON.stringify(typeof steps === "function" ? steps(folder) : steps));
    const { body } = await this.ask("POST", "/api/conversations", {
      agent: {
        kind: "Agent",
        llm: { model: `script:${script}`, stream: true },
        tools: ["terminal", "file_editor", ...tools].map((name) => ({ name })),
        ...agent,
      },
      workspace: { working_dir: folder },
      initial_message: { role: "user", content: [{ type: "text", text: "Begin." }] },
      ...more,
    });
    return body.id;
  }

  /** Waits for the end of a run. */
  async ended(id) {
    for (;;) {
      const { body } = await this.ask("GET", `/api/conversations/${id}`);
      if (body.execution_status !== "running" && body.execution_status !== "idle") return body;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  /** The events of a conversation that are not updates of its state. */
  async events(id) {
    const { body } = await this.ask("GET", `/api/conversations/${id}/events/search?limit=100`);
    return body.items.filter((event) => event.kind !== "ConversationStateUpdateEvent");
  }
}

/** What pages did wrong. */
const faultsOf = new WeakMap();

/** Opens a page for one test; `close` says what it did wrong. `hasTouch`: it is used by fingers, on glass. */
export async function open(server, path = "/", { hasTouch = false, ...viewport } = { width: 1280, height: 800 }) {
  const context = await browser.newContext({ viewport, hasTouch, isMobile: hasTouch, colorScheme: "light", reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const faults = [];
  faultsOf.set(page, faults);
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (/content security policy/i.test(message.text())) faults.push(`policy: ${message.text()}`);
  });
  page.on("request", (request) => {
    const { protocol, host, hostname } = new URL(request.url());
    if (hostname.endsWith(".localhost")) return; // a preview, which is no page of ours
    if (protocol.startsWith("http") && host !== new URL(server.origin).host) faults.push(`asks ${request.url()}`);
  });
  await page.goto(`${server.origin}${path}#key=${server.key}`);
  return {
    page,
    faults,
    async close() {
      await context.close();
      assert.deepEqual(faults, []);
    },
  };
}

/** Waits until the conversation is in this state; else says what is shown instead. */
export async function status(page, words) {
  try {
    await page.locator(".bar .status", { hasText: words }).waitFor();
  } catch (error) {
    error.message += `\nThe page shows: ${(await page.locator("main").innerText()).slice(0, 1_000)}\nIt did wrong: ${faultsOf.get(page)?.join("; ")}`;
    throw error;
  }
}

export async function checkAccess(page, what) {
  const found = await page.evaluate(`(() => { ${AXE} })(), axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } })`);
  const violations = found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
  assert.deepEqual(violations, [], what);
}

export const command = (text, run) => ({ text, tool_calls: [{ name: "terminal", arguments: { command: run } }] });

/** Opens a panel of a conversation, and gives it back. */
export async function panel(page, name) {
  await page.getByRole("button", { name: "Panels" }).click();
  await page.getByRole("tab", { name }).click();
  return page.getByRole("complementary", { name });
}

/** Opens a part of the settings, and gives the dialog back. */
export async function settings(page, section) {
  await page.getByRole("button", { name: "Settings" }).click();
  const dialog = page.getByRole("dialog", { name: "Settings" });
  await dialog.getByRole("tab", { name: section, exact: true }).click();
  return dialog;
}

/** A picture for the documentation, when it is to be renewed. */
export async function picture(page, name) {
  if (DEFT_PICTURES) await page.screenshot({ path: `${PICTURES}${name}.png` });
}

/** Nothing is wider than the screen, nor does anything that floats above the page reach over its edge. */
export async function checkWidth(page) {
  const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= screen, `${content} px of content on ${screen} px`);
  const over = await page.evaluate(() => {
    const floating = [...document.querySelectorAll("*")].filter((each) => getComputedStyle(each).position === "fixed");
    const boxes = floating.map((each) => [each.className, each.getBoundingClientRect()]);
    const isShown = ({ width, left, right }) => width > 0 && right > 0 && left < innerWidth;
    return boxes.filter(([, box]) => isShown(box) && (box.left < -1 || box.right > innerWidth + 1)).map(([name]) => name);
  });
  assert.deepEqual(over, [], "boxes that reach over the edge");
}

/** Something is whole within something else, from side to side. */
export async function checkInside(inner, outer) {
  const [box, room] = [await inner.boundingBox(), await outer.boundingBox()];
  const isInside = box.x >= room.x - 1 && box.x + box.width <= room.x + room.width + 1;
  assert.ok(isInside, `${box.x} to ${box.x + box.width} in ${room.x} to ${room.x + room.width}`);
}

/** Says something to the agent. */
export const say = async (page, text) => {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
};

/** A message of one's own. */
export const own = (page, text, you = "You") => page.getByLabel(you, { exact: true }).filter({ hasText: text });

/** Begins a conversation in a project whose skill runs a command. */
export async function beginInProject(server) {
  const folder = mkdtempSync(join(server.data, "project-"));
  const skill = join(folder, ".agents/skills/count");
  mkdirSync(skill, { recursive: true });
  writeFileSync(join(skill, "SKILL.md"), "---\ndescription: x\n---\nThere are !`echo 6 7`.");
  writeFileSync(`${folder}.json`, JSON.stringify([{ text: "Done." }]));
  return server.begin([], {
    agent: {
      kind: "Agent",
      llm: { model: `script:${folder}.json` },
      tools: [{ name: "terminal" }],
      agent_context: { load_project_skills: true },
    },
    workspace: { working_dir: folder },
  });
}
