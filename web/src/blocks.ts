// A long Markdown text in pieces, so that only the last one is read again when it grows.

/** The longest line that is read at once. Reading takes a millisecond for each thousand letters or two. */
const MAX_LINE = 4_000;

/** Splits at empty lines outside of code. A block that is one very long line is a list of its pieces. */
export function blocks(text: string): (string | string[])[] {
  const found: (string | string[])[] = [];
  let block: string[] = [];
  let fence: string | null = null;
  const end = () => {
    const [first] = block;
    if (first === undefined) return;
    found.push(block.length === 1 && first.length > MAX_LINE ? pieces(first) : block.join("\n"));
    block = [];
  };
  for (const line of text.split("\n")) {
    const mark = /^\s{0,3}(```+|~~~+)/.exec(line)?.[1];
    if (mark && fence === null) fence = mark;
    else if (mark && fence !== null && mark.startsWith(fence)) fence = null;
    if (line.trim() === "" && fence === null) end();
    else block.push(line);
  }
  end();
  return found;
}

/** Cuts a line between words, always in the same places however it goes on. */
function pieces(line: string): string[] {
  const found: string[] = [];
  let from = 0;
  while (line.length - from > MAX_LINE) {
    const space = line.lastIndexOf(" ", from + MAX_LINE);
    const to = space > from ? space + 1 : from + MAX_LINE;
    found.push(line.slice(from, to));
    from = to;
  }
  return [...found, line.slice(from)];
}

/** A line in which nothing can be Markdown, a link included. */
const PLAIN = /^(?!\s|[-+]\s|\d+[.)]\s|={3}|-{3})(?!.*(?:https?:|www\.))[^*_`[\]<>#|~\\&@\n]+$/i;

/** Whether a text is a sentence or so, which need not be read as Markdown. */
export const isPlainLine = (text: string) => PLAIN.test(text);
