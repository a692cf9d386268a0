// Which files the agent's editor has changed, and from what to what. Changes made by commands are not seen here.

import { structuredPatch } from "diff";
import type { Observation } from "./wire";

export interface Change {
  path: string;
  /** Null: the file was not there. */
  before: string | null;
  after: string;
}

/** Takes an answer of an editor in; whether it changed anything. */
export function noteChange(changes: Map<string, Change>, observation: Observation): boolean {
  const change = changeOf(observation);
  if (!change) return false;
  const earlier = changes.get(change.path);
  const before = earlier ? earlier.before : change.before;
  if (before === change.after) changes.delete(change.path);
  else changes.set(change.path, { ...change, before });
  return true;
}

/** The change that an answer tells of. */
export function changeOf(observation: Observation): Change | null {
  const path = observation["path"] ?? observation["file_path"];
  const { old_content: before, new_content: after } = observation;
  if (observation.is_error || typeof path !== "string" || typeof after !== "string") return null;
  const wasThere = observation["prev_exist"] !== false && observation["is_new_file"] !== true;
  if (wasThere && typeof before !== "string") return null;
  return { path, before: wasThere ? (before as string) : null, after };
}

export interface Line {
  type: "same" | "added" | "removed" | "gap";
  text: string;
  old: number | null;
  new: number | null;
}

export interface Diff {
  lines: Line[];
  added: number;
  removed: number;
}

/** Beyond so many letters a file is shown as changed, without its lines. */
const MAX_LETTERS = 1_000_000;
/** Lines around a change. */
const CONTEXT = 3;
/** How long a comparison may take. */
const TIMEOUT_MS = 500;

/** The lines that differ; null where there is too much to compare. */
export function diffOf(change: Change): Diff | null {
  const before = change.before ?? "";
  if (before.length + change.after.length > MAX_LETTERS) return null;
  const patch = structuredPatch("", "", before, change.after, "", "", { context: CONTEXT, timeout: TIMEOUT_MS });
  if (!patch) return null;
  const diff: Diff = { lines: [], added: 0, removed: 0 };
  for (const hunk of patch.hunks) {
    if (hunk.oldStart > 1 || diff.lines.length > 0) {
      diff.lines.push({ type: "gap", text: `line ${hunk.newStart}`, old: null, new: null });
    }
    let [oldLine, newLine] = [hunk.oldStart, hunk.newStart];
    for (const line of hunk.lines) {
      const text = line.slice(1);
      if (line.startsWith("+")) {
        diff.added += 1;
        diff.lines.push({ type: "added", text, old: null, new: newLine++ });
      } else if (line.startsWith("-")) {
        diff.removed += 1;
        diff.lines.push({ type: "removed", text, old: oldLine++, new: null });
      } else if (line.startsWith(" ")) {
        diff.lines.push({ type: "same", text, old: oldLine++, new: newLine++ });
      }
    }
  }
  return diff;
}
