import { expect, test, vi } from "vitest";
import { arrivedEnd, endOf, openEarly } from "./opening";

const asked = vi.hoisted((): string[] => []);
const shown = vi.hoisted(() => ({ id: "a" as string | null, key: "k" as string | null }));
vi.mock("./api", () => ({ api: { history: async (id: string) => asked.push(id) } }));
vi.mock("./key", () => ({ useKey: { getState: () => ({ key: shown.key }) } }));
vi.mock("./route", () => ({ shownConversation: () => shown.id }));

test("what was asked for early is not asked for again, but only once and for this conversation", async () => {
  openEarly();
  expect(asked).toEqual(["a"]);
  await endOf("a");
  expect(asked).toEqual(["a"]);
  await endOf("a");
  expect(asked).toEqual(["a", "a"]);
  openEarly();
  await endOf("b");
  expect(asked).toEqual(["a", "a", "a", "b"]);
});

test("what has arrived is there at once, for this conversation and once", async () => {
  openEarly();
  expect(arrivedEnd("a"), "on its way").toBeNull();
  await Promise.resolve();
  expect(arrivedEnd("b")).toBeNull();
  expect(arrivedEnd("a")).not.toBeNull();
  expect(arrivedEnd("a")).toBeNull();
});

test("nothing is asked without a key or a conversation", () => {
  asked.length = 0;
  shown.key = null;
  openEarly();
  Object.assign(shown, { key: "k", id: null });
  openEarly();
  expect(asked).toEqual([]);
});
