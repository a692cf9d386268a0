// What the model would be sent next, as the server tells it: how much of it each kind of text is.

import type { Answer } from "./ask";
import { openCalls, type View } from "./view";

export type Context = Answer<"get", "/api/conversations/{conversation_id}/context">;
export type Entry = Context["entries"][number];
export type Kind = Entry["kind"];

export interface Share {
  kind: Kind;
  tokens: number;
  /** 0 to 1. */
  share: number;
}

/** In the order in which the model reads them. */
const KINDS: Kind[] = ["prompt", "tools", "summary", "user", "agent", "calls", "results"];

export const shareOf = ({ tokens }: Context, part: number): number => part / Math.max(1, tokens);

/** The kinds that there are. */
export function sharesOf(context: Context): Share[] {
  return KINDS.map((kind) => {
    const tokens = context.kinds[kind] ?? 0;
    return { kind, tokens, share: shareOf(context, tokens) };
  }).filter(({ tokens }) => tokens > 0);
}

/** The last thing that happened when a step ended; null in the middle of one. */
export function stepOf(view: View): string | null {
  const isUnderWay = view.status === "running" && openCalls(view).length > 0;
  return isUnderWay ? null : (view.items.at(-1)?.id ?? "");
}
