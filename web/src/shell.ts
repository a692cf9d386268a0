// The user's own shell beside the agent's: which of the two is looked at, and what waits to be typed into it.

import { create } from "zustand";

interface Shell {
  /** Whether it is looked at, and not the agent's. */
  isShown: boolean;
  /** Commands that nobody has typed yet: its terminal does so as soon as it is open. */
  waiting: string[];
}

const EMPTY: Shell = { isShown: false, waiting: [] };
/** By conversation. */
const useShells = create<Record<string, Shell>>(() => ({}));
export const useShell = (id: string): Shell => useShells((all) => all[id]) ?? EMPTY;

function change(id: string, edit: (shell: Shell) => Partial<Shell>): void {
  useShells.setState((all) => ({ [id]: { ...EMPTY, ...all[id], ...edit(all[id] ?? EMPTY) } }));
}

export const showShell = (id: string, isShown: boolean) => change(id, () => ({ isShown }));

/** Runs a command in the user's terminal. */
export const runInShell = (id: string, command: string) =>
  change(id, ({ waiting }) => ({ isShown: true, waiting: [...waiting, command] }));

/** The commands that wait, which now do so no longer. */
export function takeWaiting(id: string): string[] {
  const waiting = useShells.getState()[id]?.waiting ?? [];
  if (waiting.length > 0) change(id, () => ({ waiting: [] }));
  return waiting;
}
