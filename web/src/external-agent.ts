// Agents that are programs of their own, and work in the place of Deft's own.

import type { Fields } from "./wire";

/** Those that the server knows how to start, by its names for them. */
export const EXTERNAL_AGENTS = { "claude-code": "Claude Code", codex: "Codex", "gemini-cli": "Gemini CLI", opencode: "OpenCode" };

/** Who works: Deft's own agent, a known program, or one whose command is written. */
export type Worker = "deft" | keyof typeof EXTERNAL_AGENTS | "command";

/** Such an agent as the server is told of it; null: Deft's own works. */
export function externalAgent(worker: Worker, command: string): Fields | null {
  if (worker === "deft") return null;
  if (worker === "command") return { agent_kind: "acp", acp_command: command.trim() };
  return { agent_kind: "acp", acp_server: worker };
}
