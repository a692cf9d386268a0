// Markdown whose reader sees everything that was written: HTML and comments in it, and definitions that nothing refers to,
// would be left out, and somebody may have to judge the text.

import type { FootnoteDefinition, Nodes, Parents, Root, RootContent } from "mdast";

/** A plugin of remark. `source`: what was written. */
export const remarkWhole = () => (root: Root, source: unknown) => {
  show(root, referredTo(root), String(source));
};

/** How a footnote is named beside links of the same name. */
const noteName = (identifier: string) => `^${identifier}`;

/** What is referred to, from the text itself or from footnotes that it leads to: one that only names itself is not drawn. */
function referredTo(root: Root): Set<string> {
  const used = new Set<string>();
  const notes = new Map<string, FootnoteDefinition>();
  const find = (node: Nodes): void => {
    if (node.type === "footnoteDefinition") notes.set(node.identifier, node);
    if ("children" in node) node.children.forEach(find);
  };
  const follow = (node: Nodes): void => {
    if (node.type === "footnoteDefinition") return;
    if (node.type === "linkReference" || node.type === "imageReference") used.add(node.identifier);
    if (node.type === "footnoteReference" && !used.has(noteName(node.identifier))) {
      used.add(noteName(node.identifier));
      notes.get(node.identifier)?.children.forEach(follow);
    }
    if ("children" in node) node.children.forEach(follow);
  };
  find(root);
  follow(root);
  return used;
}

const INLINE: readonly string[] = ["paragraph", "heading", "emphasis", "strong", "delete", "link", "linkReference", "tableCell"];

function show(parent: Parents, used: ReadonlySet<string>, source: string): void {
  const isInline = INLINE.includes(parent.type);
  const shown = (node: RootContent): RootContent => {
    if (node.type === "html" && /^<br\s*\/?>$/i.test(node.value)) return isInline ? { type: "break" } : paragraph("");
    if (node.type === "html") return isInline ? { type: "text", value: node.value } : paragraph(node.value);
    const isUnused =
      (node.type === "definition" && !used.has(node.identifier)) ||
      (node.type === "footnoteDefinition" && !used.has(noteName(node.identifier)));
    if (isUnused && node.position) return paragraph(source.slice(node.position.start.offset, node.position.end.offset));
    if ("children" in node) show(node, used, source);
    return node;
  };
  parent.children = (parent.children as RootContent[]).map(shown) as typeof parent.children;
}

const paragraph = (value: string): RootContent => ({ type: "paragraph", children: [{ type: "text", value }] });
