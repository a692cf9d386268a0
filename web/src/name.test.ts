import { expect, test } from "vitest";
import { isArchived, tagsOf, withArchived, withTags } from "./name";
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
