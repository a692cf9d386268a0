// Measures the web app in a real browser and writes its section of BENCHMARKS.md: `make bench` and `make bench-web`.

import { readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { browser, open, Server } from "../e2e/harness.mjs";

const PAGE = new URL("../../BENCHMARKS.md", import.meta.url).pathname;
const HEADING = "## The web app";
/** Steps that make more than 10,000 events, and those of a short conversation. */
const [LONG, SHORT] = [3_400, 700];
const WORDS = 8_000;
const TRIES = 5;

const load = loadavg()[0].toFixed(1);
const server = await new Server().start();
const rows = [];
const kilobytes = (bytes) => `${Math.round(bytes / 1024)} KB`;
const row = (what, goal, value, unit) => {
  const shown = unit === "KB" ? kilobytes(value) : `${value.toFixed(unit === "ms" ? 0 : 1)} ${unit}`;
  const limit = unit === "KB" ? kilobytes(goal) : `${goal} ${unit}`;
  rows.push(`| ${what} | ≤ ${limit} | ${shown}${value > goal ? " (missed)" : ""} |`);
  console.log(rows.at(-1));
};
const median = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];
const repeated = async (measure) => {
  const values = [];
  for (let turn = 0; turn < TRIES; turn += 1) values.push(await measure());
  return median(values);
};

async function conversation(steps) {
  const think = { repeat: steps, tool_calls: [{ name: "think", arguments: { thought: "thought {{n}}" } }] };
  const id = await server.begin([think, { text: "The end." }], { max_iterations: steps + 10 });
  await server.ended(id);
  return id;
}

/** Milliseconds from the beginning of the navigation until something is there. */
const since = (page, selector) =>
  page.evaluate(
    (selector) =>
      new Promise((resolve) => {
        const look = () => {
          if (document.querySelector(selector)) requestAnimationFrame(() => resolve(performance.now()));
          else requestAnimationFrame(look);
        };
        look();
      }),
    selector,
  );

/** A page that has the key, and is then opened anew. */
async function visit(path, selector) {
  const { page, close } = await open(server, "/");
  await page.goto(`${server.origin}${path}`, { waitUntil: "commit" });
  const time = await since(page, selector);
  return { page, close, time };
}

async function firstLoad() {
  const { page, close } = await open(server, "/");
  await page.getByRole("heading", { name: "What should the agent do?" }).waitFor();
  const bytes = await page.evaluate(() =>
    performance
      .getEntries()
      .filter(({ entryType, name }) => entryType === "navigation" || (entryType === "resource" && !name.includes("/api/")))
      .reduce((sum, { transferSize }) => sum + transferSize, 0),
  );
  await close();
  return bytes;
}

const interactive = async () => {
  const { close, time } = await visit("/", "textarea:focus");
  await close();
  return time;
};

const opening = async (id) => {
  const { close, time } = await visit(`/c/${id}`, ".message.from-agent");
  await close();
  return time;
};

async function heap(id) {
  const { page, close } = await visit(`/c/${id}`, ".message.from-agent");
  const session = await page.context().newCDPSession(page);
  // Everything is looked at once, from the end to the beginning.
  await page.evaluate(async () => {
    const timeline = document.querySelector(".timeline");
    let quiet = 0;
    while (quiet < 20) {
      const before = timeline.scrollHeight;
      timeline.scrollTo(0, 0);
      await new Promise((resolve) => setTimeout(resolve, 20));
      quiet = timeline.scrollTop === 0 && timeline.scrollHeight === before ? quiet + 1 : 0;
    }
  });
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await close();
  return usedSize;
}

/** The longest frame while a thousand pieces come in each second, and how many came. */
async function streaming() {
  const id = await server.begin([{ text: "word ".repeat(WORDS), chunk_delay_ms: 1 }]);
  const { page, close } = await visit(`/c/${id}`, ".draft");
  const found = await page.evaluate(
    () =>
      new Promise((resolve) => {
        let [longest, last, began] = [0, performance.now(), performance.now()];
        const letters = () => document.querySelector(".draft")?.textContent.length ?? 0;
        const first = letters();
        let shown = first;
        const frame = (now) => {
          longest = Math.max(longest, now - last);
          last = now;
          if (document.querySelector(".draft")) {
            shown = letters();
            requestAnimationFrame(frame);
          } else resolve({ longest, rate: ((shown - first) / 5 / (now - began)) * 1000 });
        };
        requestAnimationFrame(frame);
      }),
  );
  await close();
  return found;
}

row("first visit, compressed", 300 * 1024, await firstLoad(), "KB");
row("first visit until it can be written to, median", 1000, await repeated(interactive), "ms");
const [long, short] = [await conversation(LONG), await conversation(SHORT)];
const { body: count } = await server.ask("GET", `/api/conversations/${long}/events/count`);
row(`opening a conversation of ${count.toLocaleString("en")} events until its end is painted, median`, 300, await repeated(() => opening(long)), "ms");
const { longest, rate } = await streaming();
row(`longest frame while ${Math.round(rate).toLocaleString("en")} pieces come in each second`, 50, longest, "ms");
const [many, few] = [await heap(long), await heap(short)];
row(`memory of the page after reading all ${count.toLocaleString("en")} events, over that after reading a fifth of them`, 20, (many - few) / 1024 / 1024, "MB");

const text = `${HEADING}

In Chromium ${browser.version()}, on loopback, with a ${/\/debug\//.test(process.env.DEFT_BINARY) ? "debug" : "release"} build, at a load average of ${load}; \`web/bench/figures.mjs\` says how.

| what | goal | measured |
| --- | --- | --- |
${rows.join("\n")}
`;
const before = readFileSync(PAGE, "utf8");
const place = before.indexOf(HEADING);
const rest = place < 0 ? "" : before.slice(place).replace(/^## [\s\S]*?(?=\n## |$)/, "");
writeFileSync(PAGE, `${(place < 0 ? before : before.slice(0, place)).trimEnd()}\n\n${text}${rest}`);
await browser.close();
await server.remove();
