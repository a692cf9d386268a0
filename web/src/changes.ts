// Which files the agent's editor has changed, and from what to what. Changes made by commands are not seen here.

import { applyPatch, reversePatch, structuredPatch } from "diff";
import type { Observation } from "./wire";
import { t } from "./words";

export interface Change {
  path: string;
  /** Null: the file was not there. */
  before: string | null;
  /** Null: it is gone. */
  after: string | null;
}

/** Takes an answer of an editor in; whether it changed anything. */
export function noteChange(changes: Map<string, Change>, observation: Observation): boolean {
  const made = changesOf(observation);
  for (const change of made) {
    const earlier = changes.get(change.path);
    const before = earlier ? earlier.before : change.before;
    if (before === change.after) changes.delete(change.path);
    else changes.set(change.path, { ...change, before });
  }
  return made.length > 0;
}

/** Puts changes that came earlier before those that are known; whether there were any. */
export function noteEarlier(changes: Map<string, Change>, earlier: ReadonlyMap<string, Change>): boolean {
  for (const [path, change] of earlier) {
    const { after } = changes.get(path) ?? change;
    if (change.before === after) changes.delete(path);
    else changes.set(path, { path, before: change.before, after });
  }
  return earlier.size > 0;
}

/** Changes with those that some earlier answers tell of, which may be among them. */
export function withEarlier(changes: readonly Change[], answers: readonly { observation: Observation }[]): Change[] {
  const earlier = new Map<string, Change>();
  for (const { observation } of answers) noteChange(earlier, observation);
  const all = new Map(changes.map((change) => [change.path, change]));
  noteEarlier(all, earlier);
  return [...all.values()];
}

/** The changes that an answer tells of. */
export function changesOf(observation: Observation): Change[] {
  if (observation.kind === "ApplyPatchObservation") return patched(observation);
  const change = changeOf(observation);
  return change ? [change] : [];
}

/** What a patch has made of which file. */
interface Patched {
  old_content?: string | null;
  new_content?: string | null;
  move_path?: string | null;
}

function patched(observation: Observation): Change[] {
  const { changes = {} } = (observation["commit"] ?? {}) as { changes?: Record<string, Patched> };
  return Object.entries(changes).flatMap(([path, { old_content: before = null, new_content: after = null, move_path: to }]) =>
    to ? [{ path, before, after: null }, { path: to, before: null, after }] : [{ path, before, after }],
  );
}

/** The change that an answer of an editor tells of. */
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
  /** Which of the places where the file differs it belongs to. */
  hunk: number;
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

function patchOf(change: Change) {
  const [before, after] = [change.before ?? "", change.after ?? ""];
  if (before.length + after.length > MAX_LETTERS) return undefined;
  return structuredPatch("", "", before, after, "", "", { context: CONTEXT, timeout: TIMEOUT_MS });
}

/** A file without one of its differences; null where the file has changed too much meanwhile. */
export function withoutHunk(change: Change, hunk: number, now: string): string | null {
  const patch = patchOf(change);
  const wanted = patch?.hunks[hunk];
  if (!patch || !wanted) return null;
  const without = applyPatch(now, reversePatch({ ...patch, hunks: [wanted] }), { autoConvertLineEndings: false });
  return without === false ? null : without;
}

/** Two lines that stand side by side. */
export interface Pair {
  left: Line | null;
  right: Line | null;
}

/** Lines for two columns: what was removed stands beside what was added in its place. */
export function sideBySide(lines: readonly Line[]): Pair[] {
  const pairs: Pair[] = [];
  let removed: Line[] = [];
  let added: Line[] = [];
  const settle = () => {
    for (let row = 0; row < Math.max(removed.length, added.length); row += 1) {
      pairs.push({ left: removed[row] ?? null, right: added[row] ?? null });
    }
    [removed, added] = [[], []];
  };
  for (const line of lines) {
    if (line.type === "removed") removed.push(line);
    else if (line.type === "added") added.push(line);
    else {
      settle();
      pairs.push({ left: line, right: line });
    }
  }
  settle();
  return pairs;
}

/** The lines that differ; null where there is too much to compare. */
export function diffOf(change: Change): Diff | null {
  const patch = patchOf(change);
  if (!patch) return null;
  const diff: Diff = { lines: [], added: 0, removed: 0 };
  for (const [index, hunk] of patch.hunks.entries()) {
    diff.lines.push({ type: "gap", text: t("line {n}", { n: hunk.newStart }), old: null, new: null, hunk: index });
    let [oldLine, newLine] = [hunk.oldStart, hunk.newStart];
    for (const line of hunk.lines) {
      const text = line.slice(1);
      if (line.startsWith("+")) {
        diff.added += 1;
        diff.lines.push({ type: "added", text, old: null, new: newLine++, hunk: index });
      } else if (line.startsWith("-")) {
        diff.removed += 1;
        diff.lines.push({ type: "removed", text, old: oldLine++, new: null, hunk: index });
      } else if (line.startsWith(" ")) {
        diff.lines.push({ type: "same", text, old: oldLine++, new: newLine++, hunk: index });
      }
    }
  }
  return diff;
}
