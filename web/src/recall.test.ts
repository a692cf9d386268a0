import { expect, test } from "vitest";
import { recalled, saidBefore } from "./recall";
import type { Item } from "./view";

const message = (from: "user" | "agent", text: string): Item => ({ type: "message", id: text, time: "", from, text, images: [] });

test("what was said is walked through from the latest, and back to nothing", () => {
  const said = saidBefore([message("user", "one"), message("agent", "answer"), message("user", "two"), message("user", "one")]);
  expect(said).toEqual(["one", "two"]);
  expect(recalled(said, "", 1)).toBe("one");
  expect(recalled(said, "one", 1)).toBe("two");
  expect(recalled(said, "two", 1)).toBeNull();
  expect(recalled(said, "two", -1)).toBe("one");
  expect(recalled(said, "one", -1)).toBe("");
  expect(recalled(said, "", -1)).toBeNull();
  expect(recalled(said, "something else", 1)).toBeNull();
});
