// The user's own shell beside the agent's: each command is a process of its own, and the folder is carried over.

import { create } from "zustand";
import { unwrapped, unwrappedCommand, wrapped } from "./quoting";
import { workspace } from "./workspace";

export interface Entry {
  command: string;
  folder: string;
  text: string;
  /** Null: it runs. */
  code: number | null;
}

interface Shell {
  folder: string;
  entries: Entry[];
  /** The command that runs. */
  running: string | null;
  /** Whether it is looked at, and not the agent's. */
  isShown: boolean;
}

/** Commands and letters of output that are remembered. */
const MAX_ENTRIES = 100;
const MAX_LETTERS = 200_000;
/** Of those, the commands that are brought back. */
const MAX_RESTORED = 20;
const EMPTY: Shell = { folder: "", entries: [], running: null, isShown: false };
/** By conversation. */
const useShells = create<Record<string, Shell>>(() => ({}));
export const useShell = (id: string): Shell => useShells((all) => all[id]) ?? EMPTY;

function change(id: string, edit: (shell: Shell) => Shell): void {
  useShells.setState((all) => ({ [id]: edit(all[id] ?? EMPTY) }));
}

export const showShell = (id: string, isShown: boolean) => change(id, (shell) => ({ ...shell, isShown }));

const changeLast = (id: string, edit: (entry: Entry) => Entry) =>
  change(id, (shell) => ({ ...shell, entries: [...shell.entries.slice(0, -1), ...shell.entries.slice(-1).map(edit)] }));

/** Runs a command; gives up following it when nobody needs it any more. */
export async function runInShell(id: string, workspaceFolder: string, command: string): Promise<void> {
  const folder = useShells.getState()[id]?.folder || workspaceFolder;
  const entry: Entry = { command, folder, text: "", code: null };
  change(id, (shell) => ({ ...shell, folder, isShown: true, entries: [...shell.entries, entry].slice(-MAX_ENTRIES) }));
  await follow(id, workspaceFolder, () => workspace.start(id, wrapped(folder, command), workspaceFolder));
}

/** Shows what the last command writes until it ends. */
async function follow(id: string, workspaceFolder: string, start: () => Promise<{ id: string }>): Promise<void> {
  let written = "";
  try {
    const started = await start();
    change(id, (shell) => ({ ...shell, running: started.id }));
    const tell = (piece: string) => {
      written = (written + piece).slice(-MAX_LETTERS);
      changeLast(id, (last) => ({ ...last, text: unwrapped(written).text }));
    };
    const code = await workspace.follow(id, started.id, tell, new AbortController().signal);
    const { folder: ended } = unwrapped(written);
    const isInside = ended === workspaceFolder || ended?.startsWith(`${workspaceFolder}/`);
    change(id, (shell) => ({ ...shell, folder: ended && isInside ? ended : shell.folder }));
    changeLast(id, (last) => ({ ...last, code }));
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    changeLast(id, (last) => ({ ...last, text: `${last.text}${text}`, code: -1 }));
  } finally {
    change(id, (shell) => ({ ...shell, running: null }));
  }
}

/** Conversations whose earlier commands were asked for. */
const restored = new Set<string>();

/** Brings back what was run before the page was opened, from what the server has kept; what still runs is followed. */
export async function restoreShell(id: string, workspaceFolder: string): Promise<void> {
  if (restored.has(id) || useShells.getState()[id]?.entries.length) return;
  restored.add(id);
  const kept = await workspace.commands(id, MAX_RESTORED).catch(() => []);
  const ours = kept.flatMap(({ id: command, command: text }) => {
    const read = unwrappedCommand(text);
    return read ? [{ id: command, ...read }] : [];
  });
  const entries = await Promise.all(
    ours.map(async ({ id: command, ...read }) => {
      const { text, code } = await workspace.output(id, command).catch(() => ({ text: "", code: -1 }));
      return { ...read, text: unwrapped(text.slice(-MAX_LETTERS)).text, code };
    }),
  );
  const last = ours.at(-1);
  if (!last || useShells.getState()[id]?.entries.length) return; // something was run meanwhile
  change(id, (shell) => ({ ...shell, entries, folder: last.folder }));
  if (entries.at(-1)?.code === null) await follow(id, workspaceFolder, async () => ({ id: last.id }));
}
