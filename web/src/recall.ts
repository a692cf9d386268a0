// Earlier messages of the user's, to be said again: the arrow keys walk through them.

import type { Item } from "./view";

/** What was said, the latest first, each once. */
export function saidBefore(items: readonly Item[]): string[] {
  const own = items.flatMap((item) => (item.type === "message" && item.from === "user" && item.text ? [item.text] : []));
  return [...new Set(own.toReversed())];
}

/** The text one step further back, or forth (−1); null: there is none, or who writes has something else in mind. */
export function recalled(said: readonly string[], text: string, by: 1 | -1): string | null {
  const place = text === "" ? -1 : said.indexOf(text);
  if (text !== "" && place < 0) return null;
  const next = place + by;
  if (next === -1 && place === 0) return "";
  return said[next] ?? null;
}
