// A growing Markdown text in pieces, so that only the last one is read again when it grows.

/** Splits at empty lines outside of code. */
export function blocks(text: string): string[] {
  const found: string[] = [];
  let block: string[] = [];
  let fence: string | null = null;
  for (const line of text.split("\n")) {
    const mark = /^\s{0,3}(```+|~~~+)/.exec(line)?.[1];
    if (mark && fence === null) fence = mark;
    else if (mark && fence !== null && mark.startsWith(fence)) fence = null;
    if (line.trim() === "" && fence === null) {
      if (block.length > 0) found.push(block.join("\n"));
      block = [];
    } else {
      block.push(line);
    }
  }
  return block.length > 0 ? [...found, block.join("\n")] : found;
}
