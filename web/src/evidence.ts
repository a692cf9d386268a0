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

/** What shows that the work of the last turn is good; null: nothing was changed in it, or it may have been tried in a way
 * that cannot be seen here. */
export function evidenceOf(items: readonly Item[]): Evidence | null {
  let found: Evidence | null = { type: "none" };
  for (const item of items.toReversed()) {
    if (item.type === "message" && item.from === "user") return null;
    if (item.type !== "call") continue;
    if (isChange(item)) return found;
    if (found?.type === "command") continue;
    found = commandOf(item) ?? (isTriedElsewhere(item) ? null : found);
  }
  return null;
}

/** A plan is nothing that could be tried. */
const isChange = ({ event, result }: Call) =>
  result?.type === "answer" &&
  !result.observation.is_error &&
  event.action?.kind !== "PlanningFileEditorAction" &&
  (event.action?.kind === "ApplyPatchAction" || changeOf(result.observation) !== null);

/** Whether others did something, or a page was looked at. */
const isTriedElsewhere = ({ event: { action, tool_name: tool } }: Call) =>
  action?.kind === "TaskAction" || action?.kind === "DelegateAction" || tool.startsWith("browser_");

function commandOf({ event, result }: Call): Evidence | null {
  const observation = result?.type === "answer" ? result.observation : null;
  const [command, code] = [event.action?.["command"], observation?.["exit_code"]];
  if (observation?.kind !== "TerminalObservation" || observation["timeout"] === true) return null;
  if (typeof command !== "string" || typeof code !== "number" || code < 0) return null;
  const isLook = command.split(/&&|\|\||[;|\n]/).every((part) => LOOKS.test(part.trim()));
  return isLook ? null : { type: "command", command: command.trim(), code, isPart: /[^|]\|[^|]/.test(command) };
}
