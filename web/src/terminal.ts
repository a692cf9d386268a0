// What terminals show, as a text that grows: commands, what they wrote, and how they ended.

import { answerOf, describe } from "./cards/describe";
import type { Entry } from "./shell";
import type { Call, View } from "./view";
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

/** The agent's shells. */
export function agentTranscript({ items, output }: Pick<View, "items" | "output">): string {
  const isCommand = (item: View["items"][number]): item is Call =>
    item.type === "call" && item.event.action?.kind === "TerminalAction";
  const shown = items.filter(isCommand).slice(-MAX_COMMANDS);
  return shown
    .map((call) => {
      const { outcome, tone } = describe(call);
      const said = call.result ? answerOf(call) : (output[call.id] ?? "");
      return section(String(call.event.action?.["command"] ?? ""), said, tone === "bad" ? red(outcome) : "");
    })
    .join("");
}

/** The user's own. */
export function ownTranscript(entries: Entry[]): string {
  const outcome = ({ code }: Entry) => (code ? red(t("exit {code}", { code })) : "");
  return entries.map((entry) => section(entry.command, entry.text, outcome(entry))).join("");
}
