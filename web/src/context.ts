// What the model reads, by kind, and how much of it each kind is. The shares are estimated from the letters; the
// sum is what the provider counted for the last request.

import type { Item, View } from "./view";
import { textOf } from "./wire";

export type Kind = "prompt" | "tools" | "user" | "agent" | "calls" | "results";

export interface Share {
  kind: Kind;
  letters: number;
  /** 0 to 1. */
  share: number;
}

/** One thing that takes room. */
export interface Part {
  id: string;
  item: Item;
  /** 0 to 1. */
  share: number;
}

export function sharesOf(view: View): Share[] {
  const letters: Record<Kind, number> = { prompt: 0, tools: 0, user: 0, agent: 0, calls: 0, results: 0 };
  letters.prompt = (view.briefing?.prompt.length ?? 0) + (view.briefing?.context.length ?? 0);
  letters.tools = view.briefing ? JSON.stringify(view.briefing.tools).length : 0;
  for (const item of view.items) {
    for (const [kind, count] of lettersOf(item)) letters[kind] += count;
  }
  const sum = sumOf(letters);
  return (Object.entries(letters) as [Kind, number][])
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => ({ kind, letters: count, share: count / sum }));
}

/** The things that take the most room, the largest first. */
export function largestOf(view: View, count: number): Part[] {
  const letters = (item: Item) => lettersOf(item).reduce((sum, [, count]) => sum + count, 0);
  const all = sharesOf(view).reduce((sum, share) => sum + share.letters, 0);
  return view.items
    .map((item) => ({ id: item.id, item, share: letters(item) / Math.max(1, all) }))
    .toSorted((one, other) => other.share - one.share)
    .slice(0, count)
    .filter(({ share }) => share > 0);
}

function lettersOf(item: Item): [Kind, number][] {
  if (item.type === "message") return [[item.from, item.text.length]];
  if (item.type !== "call") return [];
  const { result } = item;
  const answer = !result ? "" : result.type === "answer" ? textOf(result.observation.content) : result.type === "error" ? result.text : result.reason;
  return [
    ["agent", textOf(item.event.thought).length],
    ["calls", item.event.tool_call?.arguments?.length ?? 0],
    ["results", answer.length],
  ];
}

const sumOf = (letters: Record<Kind, number>) => Math.max(1, Object.values(letters).reduce((all, each) => all + each, 0));
