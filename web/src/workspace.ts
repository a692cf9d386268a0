// A conversation's workspace: its files, its repository, commands beside the agent, and the way back.

import { ask, filled, on, send } from "./ask";
import type { components } from "./generated/api";

type Schemas = components["schemas"];
/** In a search the name is the path from where the search began. */
export type Entry = Schemas["Entry"];
export type GitChange = Schemas["GitChange"];
/** Its message is the one before whose turn it was taken. */
export type Checkpoint = Schemas["Checkpoint"];
export type Undo = Schemas["Undo"];

/** The largest file that is shown. */
export const MAX_SHOWN_BYTES = 2 * 1024 * 1024;
/** How often a command is asked for its output. */
const LOOK_EVERY_MS = 250;

/** A command that was started for somebody. */
interface StartedCommand {
  id: string;
  command: string;
}

/** Pieces of output that are asked for at once. */
const OUTPUT_PAGE = 100;

async function outputPage(id: string, command: string, after: number): Promise<Schemas["BashOutput"][]> {
  const page = await ask("get", "/api/conversations/{conversation_id}/bash/bash_events/search", {
    ...on(id),
    query: { kind__eq: "BashOutput", command_id__eq: command, order__gt: after, limit: OUTPUT_PAGE },
  });
  return page.items as Schemas["BashOutput"][];
}

export const workspace = {
  entries: (id: string, path: string, after: string | null) =>
    ask("get", "/api/conversations/{conversation_id}/entries", {
      ...on(id),
      query: { path, page_id: after, include_hidden: true },
    }),
  find: (id: string, name: string) =>
    ask("get", "/api/conversations/{conversation_id}/entries/search", { ...on(id), query: { name, limit: 30 } }),
  async read(id: string, path: string): Promise<Blob> {
    const address = filled("/api/conversations/{conversation_id}/file/download", on(id).path, { path });
    return (await send("get", address)).blob();
  },
  write(id: string, path: string, content: Blob): Promise<unknown> {
    const form = new FormData();
    form.append("file", content, "file");
    return send("post", filled("/api/conversations/{conversation_id}/file/upload", on(id).path, { path }), form);
  },
  makeFolder: (id: string, path: string) =>
    ask("post", "/api/conversations/{conversation_id}/file/create_directory", { ...on(id), query: { path } }),

  changes: (id: string, path: string, ref: string | null) =>
    ask("get", "/api/conversations/{conversation_id}/git/changes", { ...on(id), query: { path, ref } }),
  diff: (id: string, path: string, ref: string | null) =>
    ask("get", "/api/conversations/{conversation_id}/git/diff", { ...on(id), query: { path, ref } }),
  commits: (id: string, path: string) =>
    ask("get", "/api/conversations/{conversation_id}/git/commits", { ...on(id), query: { path, limit: 20 } }),

  checkpoints: (id: string) => ask("get", "/api/conversations/{conversation_id}/checkpoints", on(id)),
  preview: (id: string, checkpoint: number) =>
    ask("get", "/api/conversations/{conversation_id}/checkpoints/{checkpoint}", {
      path: { conversation_id: id, checkpoint: String(checkpoint) },
    }),
  restore: (id: string, checkpoint: number, overwrite: boolean) =>
    ask("post", "/api/conversations/{conversation_id}/checkpoints/{checkpoint}", {
      path: { conversation_id: id, checkpoint: String(checkpoint) },
      body: { overwrite },
    }),

  /** What programs use; null where no workspace runs. */
  resources: async (id: string) =>
    (await ask("get", "/api/conversations/{conversation_id}/resources", on(id))).resources,
  /** The ports that programs serve. */
  ports: async (id: string) => (await ask("get", "/api/conversations/{conversation_id}/ports", on(id))).ports,
  /** An address that shows one, to the first browser that goes there within a minute. */
  async openPort(id: string, port: number): Promise<string> {
    const path = { conversation_id: id, port: String(port) };
    return (await ask("post", "/api/conversations/{conversation_id}/ports/{port}", { path })).url;
  },

  start: (id: string, command: string, cwd: string) =>
    ask("post", "/api/conversations/{conversation_id}/bash/start_bash_command", {
      ...on(id),
      body: { command, cwd, timeout: 3600 },
    }),
  stop: (id: string, command: string) =>
    ask("post", "/api/conversations/{conversation_id}/bash/bash_commands/{command_id}/stop", {
      path: { conversation_id: id, command_id: command },
    }),
  /** Runs a command to its end; fails with what it said if that is no success. */
  async run(id: string, command: string, cwd: string): Promise<string> {
    const done = await ask("post", "/api/conversations/{conversation_id}/bash/execute_bash_command", {
      ...on(id),
      body: { command, cwd, timeout: 60 },
    });
    const said = [done.stdout, done.stderr].filter(Boolean).join("\n").trim();
    if (done.exit_code !== 0) throw new Error(said || `exit ${done.exit_code}`);
    return said;
  },
  /** The last commands that were started, the oldest first. */
  async commands(id: string, limit: number): Promise<StartedCommand[]> {
    const page = await ask("get", "/api/conversations/{conversation_id}/bash/bash_events/search", {
      ...on(id),
      query: { kind__eq: "BashCommand", sort_order: "TIMESTAMP_DESC", limit },
    });
    return (page.items as StartedCommand[]).toReversed();
  },
  /** What a command has written so far, and how it ended; null: it runs. */
  async output(id: string, command: string): Promise<{ text: string; code: number | null }> {
    let [text, last] = ["", -1];
    for (;;) {
      const page = await outputPage(id, command, last);
      for (const { order, stdout, stderr, exit_code } of page) {
        last = order;
        text += `${stdout ?? ""}${stderr ?? ""}`;
        if (typeof exit_code === "number") return { text, code: exit_code };
      }
      if (page.length < OUTPUT_PAGE) return { text, code: null };
    }
  },
  /** Tells what a command writes until it ends; gives its exit code. */
  async follow(id: string, command: string, tell: (text: string) => void, signal: AbortSignal): Promise<number> {
    let last = -1;
    while (!signal.aborted) {
      for (const output of await outputPage(id, command, last)) {
        last = output.order;
        tell(`${output.stdout ?? ""}${output.stderr ?? ""}`);
        if (output.exit_code !== null && output.exit_code !== undefined) return output.exit_code;
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    return -1;
  },
};
