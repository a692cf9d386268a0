// What terminals show, as a text that grows: commands, what they wrote, and how they ended.

import { answerOf, describe } from "./cards/describe";
import type { Answered } from "./told";
import type { Call, View } from "./view";
import { textOf } from "./wire";
import { t } from "./words";

/** Commands of the agent that are shown, and letters of each one's output. */
const MAX_COMMANDS = 50;
const MAX_LETTERS = 64 * 1024;

const bold = (text: string) => `\u001b[1m${text}\u001b[0m`;
const red = (text: string) => `\u001b[31m${text}\u001b[0m`;

/** A command with what it wrote; whatever that switched on is switched off behind it. */
function section(command: string, output: string, outcome: string): string {
  const said = output.slice(-MAX_LETTERS).replace(/\n$/, "");
  return `${bold(`$ ${command}`)}\n${said ? `${said}\u001b[0m\u001b[?25l\n` : ""}${outcome ? `${outcome}\n` : ""}`;
}

/** The agent's shells: what was answered before what is loaded, then what is. */
export function agentTranscript({ items, output }: Pick<View, "items" | "output">, told: readonly Answered[] = []): string {
  const isCommand = (item: View["items"][number]): item is Call =>
    item.type === "call" && item.event.action?.kind === "TerminalAction";
  const loaded = items.filter(isCommand).slice(-MAX_COMMANDS);
  const known = new Set(loaded.map((call) => call.event.tool_call_id));
  const room = MAX_COMMANDS - loaded.length;
  const earlier = room > 0 ? told.filter((event) => !known.has(event.tool_call_id)).slice(-room) : [];
  return [...earlier.map(ofAnswer), ...loaded.map((call) => ofCall(call, output[call.id] ?? ""))].join("");
}

function ofCall(call: Call, output: string): string {
  const { outcome, tone } = describe(call);
  const said = call.result ? answerOf(call) : output;
  return section(String(call.event.action?.["command"] ?? ""), said, tone === "bad" ? red(outcome) : "");
}

function ofAnswer({ observation }: Answered): string {
  const code = observation["exit_code"];
  const outcome = typeof code === "number" && code > 0 ? red(t("exit {code}", { code })) : "";
  return section(String(observation["command"] ?? ""), textOf(observation.content), outcome);
}
