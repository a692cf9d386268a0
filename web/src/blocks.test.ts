import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { expect, test } from "vitest";
import { blocks, isPlainLine } from "./blocks";

test("code is one block, whatever stands in it", () => {
  const code = "```sh\none\n\ntwo\n```";
  expect(blocks(`A\nb\n\n\n${code}\n\nC`)).toEqual(["A\nb", code, "C"]);
});

test("code that is not finished yet stays one block", () => {
  expect(blocks("A\n\n~~~\none\n\ntwo")).toEqual(["A", "~~~\none\n\ntwo"]);
});

test("a very long line is cut between words, and in the same places when it goes on", () => {
  const line = "word ".repeat(2_000);
  const [short, long] = [blocks(line)[0], blocks(`${line}and more`)[0]] as [string[], string[]];
  expect(short.join("")).toBe(line);
  expect(short.length).toBe(3);
  expect(short.every((piece) => piece.length <= 4_001 && piece.endsWith(" "))).toBe(true);
  expect(long.slice(0, 2)).toEqual(short.slice(0, 2));
  expect(blocks("x".repeat(9_000))[0]).toHaveLength(3);
});

test("many lines are one block, however long: a table must not be cut", () => {
  const table = "| a | b |\n".repeat(1_000).trimEnd();
  expect(blocks(table)).toEqual([table]);
});

test("a plain line is what Markdown would make of it, and what may be Markdown is none", () => {
  const read = (text: string) => renderToStaticMarkup(createElement(ReactMarkdown, { children: text, remarkPlugins: [remarkGfm] }));
  for (const text of ["I will look first.", "Done: 3 of 4 (75 %), isn't it?", "2026 was a year.", "a - b + c = d; e.g. f/g ", "שלום"]) {
    expect(isPlainLine(text)).toBe(true);
    expect(read(text)).toBe(renderToStaticMarkup(createElement("p", null, text.trim())));
  }
  const marked = ["*a*", "a `b`", "# a", "- a", "+ a", "1. a", "2) a", "a\nb", "  a", "---", "www.a.org", "see https://a.org", "a@b.org", "&amp;", "a | b", "<b>", "~~a~~"];
  expect(marked.filter(isPlainLine)).toEqual([]);
});
