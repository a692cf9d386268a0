// Takes out what turns the direction of writing when Markdown has been read: only then are character references such as
// `&#x202e;` the characters they stand for.

import type { Element, Root } from "hast";
import { unturned, unturnedCode, unturnedWithin } from "../plain";

/** Attributes that a person reads. */
const READ = ["alt", "title"];
/** What stands within a line: letters around it say in which direction that is written. */
const INLINE = ["a", "em", "strong", "del"];

/** A plugin of rehype. */
export const rehypeUnturned = () => (root: Root) => unturn(root, "");

function unturn(parent: Root | Element, line: string): void {
  const isCode = parent.type === "element" && parent.tagName === "code";
  for (const node of parent.children) {
    if (node.type === "text") node.value = isCode ? unturnedCode(node.value) : unturnedWithin(line, node.value);
    if (node.type !== "element") continue;
    for (const name of READ) {
      const value = node.properties[name];
      if (typeof value === "string") node.properties[name] = unturned(value);
    }
    unturn(node, INLINE.includes(node.tagName) ? line : textOf(node));
  }
}

function textOf(parent: Element): string {
  const texts = parent.children.map((node) => (node.type === "text" ? node.value : node.type === "element" ? textOf(node) : ""));
  return texts.join("");
}
