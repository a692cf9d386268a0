// A patch as the tool `apply_patch` takes it: which files it is about, what it does to each, and how many lines it adds
// and removes.

const FILES = /(?:^|\n)\*\*\* (?:Add|Update|Delete) File: ([^\n]+)/g;

export const patchedFiles = (patch: string) => [...patch.matchAll(FILES)].map(([, path]) => path?.trim() ?? "");

/** What it does file by file, without the words around it all. */
export function patchParts(patch: string): { path: string; text: string }[] {
  const inner = patch.replace(/^\s*\*\*\* Begin Patch\n/, "").replace(/\*\*\* End Patch\s*$/, "");
  const parts = inner.split(/^(?=\*\*\* (?:Add|Update|Delete) File: )/m);
  return parts.map((text) => ({ path: patchedFiles(text)[0] ?? "", text }));
}

export function patchCounts(patch: string): { added: number; removed: number } {
  const lines = patch.split("\n");
  const count = (mark: string) => lines.filter((line) => line.startsWith(mark)).length;
  return { added: count("+"), removed: count("-") };
}
