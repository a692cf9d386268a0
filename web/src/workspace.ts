// A conversation's workspace: its files, its repository, commands beside the agent, and the way back.

import { ask, at, query, send } from "./ask";

export interface Entry {
  /** In a search: the path from where the search began. */
  name: string;
  path: string;
  kind: "file" | "directory" | "link" | "special";
  size: number;
}

export interface GitChange {
  status: "ADDED" | "UPDATED" | "DELETED" | "MOVED";
  path: string;
}

export interface Commit {
  sha: string;
  short_sha: string;
  subject: string;
  author: string;
}

export interface Checkpoint {
  id: number;
  /** The message before whose turn it was taken. */
  message_id: string;
  taken_at: string;
}

export interface Undo {
  path: string;
  effect: "create" | "modify" | "delete" | { leave: string };
  now: number | null;
  then: number | null;
  /** Somebody changed it after the agent. */
  edited_since: boolean;
}

export interface Output {
  command_id: string;
  order: number;
  exit_code: number | null;
  stdout: string | null;
  stderr: string | null;
}

/** The largest file that is shown. */
export const MAX_SHOWN_BYTES = 2 * 1024 * 1024;
/** How often a command is asked for its output. */
const LOOK_EVERY_MS = 250;

export const workspace = {
  entries: (id: string, path: string, after: string | null) =>
    ask<{ items: Entry[]; next_page_id: string | null }>(
      "GET",
      `${at(id)}/entries${query({ path, page_id: after, include_hidden: true })}`,
    ),
  find: (id: string, name: string) =>
    ask<{ items: Entry[] }>("GET", `${at(id)}/entries/search${query({ name, limit: 30 })}`),
  async read(id: string, path: string): Promise<Blob> {
    return (await send("GET", `${at(id)}/file/download${query({ path })}`)).blob();
  },
  write(id: string, path: string, content: Blob): Promise<unknown> {
    const form = new FormData();
    form.append("file", content, "file");
    return ask("POST", `${at(id)}/file/upload${query({ path })}`, form);
  },

  changes: (id: string, path: string, ref: string | null) =>
    ask<GitChange[]>("GET", `${at(id)}/git/changes${query({ path, ref })}`),
  diff: (id: string, path: string, ref: string | null) =>
    ask<{ original: string | null; modified: string | null }>("GET", `${at(id)}/git/diff${query({ path, ref })}`),
  commits: (id: string, path: string) =>
    ask<{ commits: Commit[] }>("GET", `${at(id)}/git/commits${query({ path, limit: 20 })}`),

  checkpoints: (id: string) => ask<Checkpoint[]>("GET", `${at(id)}/checkpoints`),
  preview: (id: string, checkpoint: number) => ask<Undo[]>("GET", `${at(id)}/checkpoints/${checkpoint}`),
  restore: (id: string, checkpoint: number, overwrite: boolean) =>
    ask<{ undo: number; failed: { path: string; reason: string }[] }>("POST", `${at(id)}/checkpoints/${checkpoint}`, {
      overwrite,
    }),

  start: (id: string, command: string, cwd: string) =>
    ask<{ id: string }>("POST", `${at(id)}/bash/start_bash_command`, { command, cwd, timeout: 3600 }),
  stop: (id: string, command: string) => ask("POST", `${at(id)}/bash/bash_commands/${command}/stop`),
  /** Runs a command to its end; fails with what it said if that is no success. */
  async run(id: string, command: string, cwd: string): Promise<string> {
    const done = await ask<Output>("POST", `${at(id)}/bash/execute_bash_command`, { command, cwd, timeout: 60 });
    const said = [done.stdout, done.stderr].filter(Boolean).join("\n").trim();
    if (done.exit_code !== 0) throw new Error(said || `exit ${done.exit_code}`);
    return said;
  },
  /** Tells what a command writes until it ends; gives its exit code. */
  async follow(id: string, command: string, tell: (text: string) => void, signal: AbortSignal): Promise<number> {
    let last = -1;
    while (!signal.aborted) {
      const page = await ask<{ items: Output[] }>(
        "GET",
        `${at(id)}/bash/bash_events/search${query({ command_id__eq: command, order__gt: last, limit: 100 })}`,
      );
      for (const output of page.items) {
        last = output.order;
        tell(`${output.stdout ?? ""}${output.stderr ?? ""}`);
        if (output.exit_code !== null && output.exit_code !== undefined) return output.exit_code;
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    return -1;
  },
};
