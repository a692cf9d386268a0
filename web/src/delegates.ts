// Agents that are called by name: what a call says to them.

import type { Fields } from "./wire";

export interface Delegate {
  name: string;
  /** What it is to do; where it only begins, nothing. */
  task: string;
  /** What kind of agent begins; where it was there before, nothing. */
  kind: string;
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Those that a call begins, or gives tasks to. */
export function delegatesOf(action: Fields): Delegate[] {
  const tasks = Object.entries((action["tasks"] ?? {}) as Fields);
  if (tasks.length > 0) return tasks.map(([name, task]) => ({ name, task: String(task), kind: "" }));
  const kinds = listOf(action["agent_types"]);
  return listOf(action["ids"]).map((name, index) => ({ name: String(name), task: "", kind: String(kinds[index] ?? "") }));
}
