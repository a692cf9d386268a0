import { beforeEach, expect, test, vi } from "vitest";
import { canWait, moved, queue } from "./queue";

let asked: string[] = [];
let waiting: unknown[] = [];
vi.mock("./ask", () => ({
  on: (id: string) => ({ path: { conversation_id: id } }),
  ask: async (method: string, path: string) => {
    asked.push(`${method} ${path}`);
    return { queue: waiting };
  },
}));
beforeEach(() => {
  asked = [];
  waiting = [];
});

test("a message goes one place up or down, and not past the ends", () => {
  expect(moved(["a", "b", "c"], "b", -1)).toEqual(["b", "a", "c"]);
  expect(moved(["a", "b", "c"], "b", 1)).toEqual(["a", "c", "b"]);
  expect(moved(["a", "b"], "a", -1)).toEqual(["a", "b"]);
  expect(moved(["a", "b"], "b", 1)).toEqual(["a", "b"]);
});

test("messages wait only while a turn is under way", () => {
  expect((["running", "paused", "waiting_for_confirmation"] as const).every(canWait)).toBe(true);
  expect((["idle", "finished", "error", "stuck"] as const).some(canWait)).toBe(false);
});

test("what was said at once because the turn had just ended is run", async () => {
  await queue.add("c", "m", "later", []);
  expect(asked).toEqual(["post /api/conversations/{conversation_id}/queue", "post /api/conversations/{conversation_id}/run"]);
});

test("a message that waits is read with its pictures", async () => {
  const image = "data:image/png;base64,AAAA";
  waiting = [{ id: "m", message: { content: [{ type: "text", text: "x" }, { type: "image", image_urls: [image] }] } }];
  const [message] = await queue.list("c");
  expect(message).toEqual({ id: "m", text: "x", images: [image] });
});
