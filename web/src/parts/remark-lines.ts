// The lines of a text that a person has typed: they stay as they were seen when it was written.

import type { Parents, Root, RootContent } from "mdast";

/** A plugin of remark. */
export const remarkLines = () => (root: Root) => keep(root);

function keep(parent: Parents): void {
  const kept = (node: RootContent): RootContent[] => {
    if (node.type === "text") {
      const lines = node.value.split(/\r?\n/).map((value): RootContent => ({ type: "text", value }));
      return lines.flatMap((line, index) => (index === 0 ? [line] : [{ type: "break" }, line]));
    }
    if ("children" in node) keep(node);
    return [node];
  };
  parent.children = (parent.children as RootContent[]).flatMap(kept) as typeof parent.children;
}
