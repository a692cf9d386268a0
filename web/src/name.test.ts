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

test("tags are words of small letters and digits, and what they say stays", () => {
  expect(withTags(tagged({ archived: "yes", issue: "7" }), "Issue, Re-view archived")).toEqual({
    issue: "7",
    review: "yes",
    archived: "yes",
  });
});

test("a title turns nothing around", () => {
  const named = (title: string) => nameOf({ title, workspace: { working_dir: "/work/place" } } as Conversation);
  expect(named("gpj.\u202etxt")).not.toContain("\u202e");
  expect(named(" ")).toBe("place");
});
