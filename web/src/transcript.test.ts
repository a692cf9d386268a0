import { expect, test } from "vitest";
import { html, markdown } from "./transcript";
import type { Item } from "./view";

const items: Item[] = [
  { type: "message", id: "1", time: "", from: "user", text: "<b>Do</b> it", images: [] },
  { type: "failure", id: "2", time: "", code: "Oops", text: "```\nfence\n```", classification: null },
];

test("Markdown keeps fences within fences", () => {
  expect(markdown("Title", items)).toBe(
    "# Title\n\n## User\n\n<b>Do</b> it\n\n## Oops\n\n````\n```\nfence\n```\n````\n",
  );
});

test("HTML shows what was said and interprets nothing of it", () => {
  const page = html("<i>T</i>", items);
  expect(page).toContain("&#60;b&#62;Do");
  expect(page).not.toMatch(/<b>|<i>/);
});

test("nor does it let anything turn the direction of writing", () => {
  const said: Item = { type: "message", id: "1", time: "", from: "agent", text: "Open photo\u202egnp.exe", images: [] };
  expect(html("T", [said])).toContain("photo\ufffdgnp.exe");
});
