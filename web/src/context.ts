// What the model reads, by kind, and how much of it each kind is. The shares are estimated from the letters; the
// sum is what the provider counted for the last request.

import type { View } from "./view";
import { textOf } from "./wire";

export type Kind = "prompt" | "tools" | "user" | "agent" | "calls" | "results";

export interface Share {
  kind: Kind;
  letters: number;
  /** 0 to 1. */
  share: number;
}

export function sharesOf(view: View): Share[] {
  const letters: Record<Kind, number> = { prompt: 0, tools: 0, user: 0, agent: 0, calls: 0, results: 0 };
  letters.prompt = (view.briefing?.prompt.length ?? 0) + (view.briefing?.context.length ?? 0);
  letters.tools = view.briefing ? JSON.stringify(view.briefing.tools).length : 0;
  for (const item of view.items) {
    if (item.type === "message") letters[item.from] += item.text.length;
    if (item.type !== "call") continue;
    letters.agent += textOf(item.event.thought).length;
    letters.calls += item.event.tool_call?.arguments?.length ?? 0;
    if (item.result?.type === "answer") letters.results += textOf(item.result.observation.content).length;
    else if (item.result) letters.results += (item.result.type === "error" ? item.result.text : item.result.reason).length;
  }
  const sum = Math.max(1, Object.values(letters).reduce((all, each) => all + each, 0));
  return (Object.entries(letters) as [Kind, number][])
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => ({ kind, letters: count, share: count / sum }));
}
