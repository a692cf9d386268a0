// Whether what was changed was also tried: the command that ran after the last change of a turn, and how it ended.

import { changeOf } from "./changes";
import type { Call, Item } from "./view";

export type Evidence =
  /** `isPart`: the exit code is that of the last program in a pipe. */
  | { type: "command"; command: string; code: number; isPart: boolean }
  /** Files were changed, and nothing was run after that. */
  | { type: "none" };

/** Programs that only show something: that they end well says nothing about the work. */
const LOOKS = /^(ls|cat|head|tail|less|grep|rg|find|fd|pwd|cd|echo|printf|wc|tree|stat|file|which|sed -n|git (status|diff|log|show|add|commit|branch))\b/;

/** What shows that the work of the last turn is good; null: nothing was changed in it, as far as is known. */
export function evidenceOf(items: readonly Item[]): Evidence | null {
  let found: Evidence = { type: "none" };
  for (const item of items.toReversed()) {
    if (item.type === "message" && item.from === "user") return null;
    if (item.type !== "call") continue;
    if (isChange(item)) return found;
    if (found.type === "none") found = commandOf(item) ?? found;
  }
  return null;
}

const isChange = ({ event, result }: Call) =>
  result?.type === "answer" &&
  !result.observation.is_error &&
  (event.action?.kind === "ApplyPatchAction" || changeOf(result.observation) !== null);

function commandOf({ event, result }: Call): Evidence | null {
  const observation = result?.type === "answer" ? result.observation : null;
  const [command, code] = [event.action?.["command"], observation?.["exit_code"]];
  if (observation?.kind !== "TerminalObservation" || observation["timeout"] === true) return null;
  if (typeof command !== "string" || typeof code !== "number" || code < 0) return null;
  const isLook = command.split(/&&|\|\||[;|\n]/).every((part) => LOOKS.test(part.trim()));
  return isLook ? null : { type: "command", command: command.trim(), code, isPart: /[^|]\|[^|]/.test(command) };
}
