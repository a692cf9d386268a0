import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import de from "./words/de.json";
import fr from "./words/fr.json";
import { t, wished } from "./words";

/** Every text that the code shows. */
function texts(): Set<string> {
  const folder = new URL(".", import.meta.url).pathname;
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /(?<!test)\.tsx?$/.test(name));
  const found = files.flatMap((name) => [
    ...readFileSync(join(folder, name), "utf8").matchAll(/\bt\(\s*"((?:[^"\\]|\\.)*)"/g),
  ]);
  return new Set(found.map((match) => JSON.parse(`"${match[1]}"`) as string));
}

const places = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place).toSorted();

test.each([
  ["de", de as Record<string, string>],
  ["fr", fr as Record<string, string>],
])("%s has every text, no other, and the same values in each", (_, words) => {
  const all = texts();
  expect(all.size).toBeGreaterThan(200);
  expect(Object.keys(words).filter((text) => !all.has(text)), "not used any more").toEqual([]);
  expect([...all].filter((text) => !(text in words)), "missing").toEqual([]);
  for (const [text, translated] of Object.entries(words)) expect(places(translated), text).toEqual(places(text));
});

test("German says du everywhere", () => {
  // At the beginning of a sentence it may be a thing that is meant: "Sie kommt von selbst wieder".
  const isPolite = (text: string) => /[^.!?:…] (?:Sie|Ihnen|Ihre?[nmrs]?)\b|\b\p{L}+en Sie\b|^Sie sind/u.test(text);
  expect(Object.values(de).filter(isPolite)).toEqual([]);
});

test("a text without a translation is shown as it stands in the code", () => {
  expect(t("Nobody translates {this}", { this: "it" })).toBe("Nobody translates it");
});

test("the language is the one that was chosen, else the browser's, else English", () => {
  expect(wished("fr", ["de-AT"])).toBe("fr");
  expect(wished("", ["xx", "de-AT"])).toBe("de");
  expect(wished("", ["ja"])).toBe("en");
});
