import { expect, test } from "vitest";
import { isArchived, nameOf, tagsOf, withArchived, withTags } from "./name";
import type { Conversation } from "./wire";

const tagged = (tags: Record<string, string>) => ({ tags }) as Conversation;

test("an archived conversation keeps its tags, and comes back with them", () => {
  const archived = tagged(withArchived(tagged({ work: "yes" }), true));
  expect(isArchived(archived)).toBe(true);
  expect(tagsOf(archived)).toEqual(["work"]);
  expect(withArchived(archived, false)).toEqual({ work: "yes" });
});

test("tags are words, and what other programs keep in them stays", () => {
  expect(withTags(tagged({ archived: "yes", issue: "7", bug: "yes" }), "Issue, bug archived")).toEqual({
    issue: "7",
    bug: "yes",
    archived: "yes",
  });
});

test("words of all scripts stay as they were written", () => {
  const tags = withTags(tagged({}), "Überprüfen 日本 bug-fix 日本語");
  expect(Object.keys(tags).every((key) => /^[a-z0-9]+$/.test(key)), "keys that the server takes").toBe(true);
  expect(tagsOf(tagged(tags))).toEqual(["Überprüfen", "日本", "bug-fix", "日本語"]);
  expect(withTags(tagged(tags), tagsOf(tagged(tags)).join(" "))).toEqual(tags);
});

test("a title turns nothing around", () => {
  const named = (title: string) => nameOf({ title, workspace: { working_dir: "/work/place" } } as Conversation);
  expect(named("gpj.\u202etxt")).not.toContain("\u202e");
  expect(named(" ")).toBe("place");
});
