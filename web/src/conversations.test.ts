import { expect, test, vi } from "vitest";
import { together } from "./conversations";
import type { Conversation } from "./wire";

vi.mock("./api", () => ({}));
vi.mock("./preferences", () => ({}));

test("an older one that something happened to stands among the newest, once", () => {
  const one = (id: string, status: string) => ({ id, execution_status: status }) as Conversation;
  const all = together([one("b", "running"), one("a", "finished")], [one("a", "finished"), one("b", "idle"), one("c", "finished")]);
  expect(all.map(({ id, execution_status: status }) => `${id} ${status}`)).toEqual(["b running", "a finished", "c finished"]);
});
