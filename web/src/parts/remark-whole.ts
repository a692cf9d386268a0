// Markdown whose reader sees everything that was written: HTML and comments in it, and definitions that nothing refers to,
// would be left out, and somebody may have to judge the text.

import type { Nodes, Parents, Root, RootContent } from "mdast";

/** A plugin of remark. `source`: what was written. */
export const remarkWhole = () => (root: Root, source: unknown) => {
  const used = new Set<string>();
  collect(root, used);
  show(root, used, String(source));
};

/** What is referred to. */
function collect(node: Nodes, used: Set<string>): void {
  if (node.type === "linkReference" || node.type === "imageReference" || node.type === "footnoteReference") used.add(node.identifier);
  if ("children" in node) for (const child of node.children) collect(child, used);
}

const INLINE: readonly string[] = ["paragraph", "heading", "emphasis", "strong", "delete", "link", "linkReference", "tableCell"];

function show(parent: Parents, used: ReadonlySet<string>, source: string): void {
  const isInline = INLINE.includes(parent.type);
  const shown = (node: RootContent): RootContent => {
    if (node.type === "html" && /^<br\s*\/?>$/i.test(node.value)) return isInline ? { type: "break" } : paragraph("");
    if (node.type === "html") return isInline ? { type: "text", value: node.value } : paragraph(node.value);
    const isUnused = (node.type === "definition" || node.type === "footnoteDefinition") && !used.has(node.identifier);
    if (isUnused && node.position) return paragraph(source.slice(node.position.start.offset, node.position.end.offset));
    if ("children" in node) show(node, used, source);
    return node;
  };
  parent.children = (parent.children as RootContent[]).map(shown) as typeof parent.children;
}

const paragraph = (value: string): RootContent => ({ type: "paragraph", children: [{ type: "text", value }] });
