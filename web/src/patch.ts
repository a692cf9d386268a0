// A patch as the tool `apply_patch` takes it: which files it is about, and how many lines it adds and removes.

const FILES = /(?:^|\n)\*\*\* (?:Add|Update|Delete) File: ([^\n]+)/g;

export const patchedFiles = (patch: string) => [...patch.matchAll(FILES)].map(([, path]) => path?.trim() ?? "");

export function patchCounts(patch: string): { added: number; removed: number } {
  const lines = patch.split("\n");
  const count = (mark: string) => lines.filter((line) => line.startsWith(mark)).length;
  return { added: count("+"), removed: count("-") };
}
