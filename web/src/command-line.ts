// A program and its arguments in one line, as people write it for a shell. Nothing in it is expanded.

/** The words of a line: quotes keep spaces, a backslash keeps the next letter. Null: a quote is not closed. */
export function wordsOf(line: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const letter = line[at] ?? "";
    if (letter === "\\" && quote !== "'") word = (word ?? "") + (line[(at += 1)] ?? "");
    else if (quote) {
      if (letter === quote) quote = "";
      else word = (word ?? "") + letter;
    } else if (letter === "'" || letter === '"') {
      quote = letter;
      word ??= "";
    } else if (/\s/.test(letter)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + letter;
  }
  if (quote) return null;
  return word === null ? words : [...words, word];
}

/** A line that is read as these words. */
export const lineOf = (words: readonly string[]) =>
  words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
