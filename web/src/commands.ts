// What can be done by writing `/name`.

import { api } from "./api";
import { type Format, exportConversation } from "./export";
import { go } from "./route";
import { takeBack, useRewound } from "./rewinding";
import { LAST, PANELS, type PanelName, panelWords, rewind, showPanel, useScreen } from "./screen";
import { t } from "./words";

export interface Command {
  name: string;
  help: string;
  /** Whether it says nothing without words behind it. */
  needsWords?: true;
  /** Whether there must be something under way. */
  needsRun?: true;
  /** Whether there must be a way back that can be taken back. */
  needsWayBack?: true;
  /** In a conversation; gives words to show, if there are any. */
  run: (id: string, words: string) => Promise<string | void>;
}

/** The words behind a command that can do nothing without. */
function needed(words: string, complaint: string): string {
  if (!words.trim()) throw new Error(complaint);
  return words.trim();
}

export function commands(): Command[] {
  const exported = (name: string, format: Format): Command => ({
    name,
    help: t("Export the conversation as {format}", { format }),
    run: (id) => exportConversation(id, format),
  });
  const panel = (name: PanelName): Command => ({
    name,
    help: t("Show the panel “{name}”", { name: panelWords()[name] }),
    run: async () => showPanel(name),
  });
  return [
    { name: "stop", help: t("Stop now"), needsRun: true, run: async (id) => void (await api.stop(id)) },
    { name: "compact", help: t("Summarise earlier steps to make room"), run: async (id) => void (await api.condense(id)) },
    { name: "fork", help: t("Go on in a copy"), run: async (id) => go((await api.fork(id, null)).id) },
    {
      name: "ask",
      help: t("Ask the model something on the side"),
      needsWords: true,
      run: async (id, words) => (await api.askAside(id, needed(words, t("Write the question behind it.")))).response,
    },
    {
      name: "goal",
      help: t("Work until this is reached; without words: go on with the last goal"),
      needsWords: true,
      run: async (id, words) => void (await (words.trim() ? api.pursue(id, words.trim()) : api.pursueAgain(id))),
    },
    {
      name: "model",
      help: t("Switch to another model"),
      needsWords: true,
      run: async (id, words) => {
        const profile = needed(words, t("Write the name of a profile behind it. They are in Settings, Models."));
        await api.switchProfile(id, profile);
      },
    },
    { name: "undo", help: t("Rewind to before the last message"), run: async () => rewind(LAST) },
    {
      name: "redo",
      help: t("Take the last rewinding back"),
      needsWayBack: true,
      run: async (id) => {
        const way = useRewound.getState()[id];
        if (!way) throw new Error(t("Nothing was rewound that could be taken back."));
        await takeBack(id, way);
      },
    },
    { name: "replay", help: t("Go through it step by step"), run: async () => useScreen.setState({ isReplayed: true }) },
    exported("markdown", "Markdown"),
    exported("html", "HTML"),
    exported("json", "JSON"),
    ...PANELS.map(panel),
  ];
}

/** Those that would do something now. */
export const offeredCommands = (id: string, isBusy: boolean) =>
  commands().filter(({ needsRun, needsWayBack }) => (isBusy || !needsRun) && (useRewound.getState()[id] || !needsWayBack));

/** The command that a text is, and what stands behind it. A sentence that only begins like one is none. */
export function commandOf(text: string): { command: Command; rest: string } | null {
  const [, name, rest] = /^\/(\w+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  const command = commands().find((command) => command.name === name);
  return command && (command.needsWords || !rest) ? { command, rest: rest ?? "" } : null;
}

/** The command for the user's own shell that a text beginning with `!` is. */
export const shellCommandOf = (text: string) => /^!\s*(\S[\s\S]*)$/.exec(text.trim())?.[1] ?? null;
