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
/** How long a command may take: a commit waits for the repository's hooks. */
const RUN_LIMIT_SECONDS = 600;

/** What names a conversation whose workspace is reached: that may have to be started first, be it a container. */
const reaching = (id: string) => ({ ...on(id), isLong: true as const });

export const workspace = {
  entries: (id: string, path: string, after: string | null) =>
    ask("get", "/api/conversations/{conversation_id}/entries", {
      ...reaching(id),
      query: { path, page_id: after, include_hidden: true },
    }),
  /** Whether a folder has something of this name: a page of it that begins with the name does. */
  async isThere(id: string, path: string, name: string): Promise<boolean> {
    const query = { path, page_id: name, limit: 1, include_hidden: true };
    const { items } = await ask("get", "/api/conversations/{conversation_id}/entries", { ...reaching(id), query });
    return items[0]?.name === name;
  },
  find: (id: string, name: string) =>
    ask("get", "/api/conversations/{conversation_id}/entries/search", { ...reaching(id), query: { name, limit: 30 } }),
  async read(id: string, path: string): Promise<Blob> {
    const address = filled("/api/conversations/{conversation_id}/file/download", on(id).path, { path });
    return (await send("get", address, undefined, {}, "long")).blob();
  },
  /** A file as text; null where it is none, and writing it again would make something else of it. */
  async readText(id: string, path: string): Promise<string | null> {
    const bytes = await (await workspace.read(id, path)).arrayBuffer();
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      return null;
    }
  },
  write(id: string, path: string, content: Blob): Promise<unknown> {
    const form = new FormData();
    form.append("file", content, "file");
    const address = filled("/api/conversations/{conversation_id}/file/upload", on(id).path, { path });
    return send("post", address, form, {}, "long");
  },
  makeFolder: (id: string, path: string) =>
    ask("post", "/api/conversations/{conversation_id}/file/create_directory", { ...reaching(id), query: { path } }),

  changes: (id: string, path: string, ref: string | null) =>
    ask("get", "/api/conversations/{conversation_id}/git/changes", { ...reaching(id), query: { path, ref } }),
  /** A file for a reviewer, and which state of it this is. */
  review: (id: string, path: string, ref: string | null) =>
    ask("get", "/api/conversations/{conversation_id}/git/review", { ...reaching(id), query: { path, ref } }),
  /** Makes a file what it was, unless it is not in that state any more. */
  revert: (id: string, path: string, ref: string | null, version: string) =>
    ask("post", "/api/conversations/{conversation_id}/git/revert", { ...reaching(id), body: { path, ref, version } }),
  commits: (id: string, path: string) =>
    ask("get", "/api/conversations/{conversation_id}/git/commits", { ...reaching(id), query: { path, limit: 20 } }),

  checkpoints: (id: string) => ask("get", "/api/conversations/{conversation_id}/checkpoints", reaching(id)),
  preview: (id: string, checkpoint: number) =>
    ask("get", "/api/conversations/{conversation_id}/checkpoints/{checkpoint}", {
      path: { conversation_id: id, checkpoint: String(checkpoint) },
      isLong: true,
    }),
  restore: (id: string, checkpoint: number, overwrite: boolean) =>
    ask("post", "/api/conversations/{conversation_id}/checkpoints/{checkpoint}", {
      path: { conversation_id: id, checkpoint: String(checkpoint) },
      body: { overwrite },
      isLong: true,
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

  /** Runs a command to its end; fails with what it said if that is no success. */
  async run(id: string, command: string, cwd: string): Promise<string> {
    const done = await ask("post", "/api/conversations/{conversation_id}/bash/execute_bash_command", {
      ...on(id),
      body: { command, cwd, timeout: RUN_LIMIT_SECONDS },
      isLong: true,
    });
    const said = [done.stdout, done.stderr].filter(Boolean).join("\n").trim();
    if (done.exit_code !== 0) throw new Error(said || `exit ${done.exit_code}`);
    return said;
  },
};
