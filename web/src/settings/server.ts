// The server's settings: what can be asked and changed.

import { ask } from "../ask";
import type { Fields } from "../wire";

export interface Profile {
  name: string;
  model: string;
  base_url: string | null;
  api_key_set: boolean;
}

/** What came out for one layer of a model's connection. */
export interface Finding {
  layer: string;
  ok: boolean;
  detail: string;
  remedy?: string;
}

export interface LocalServer {
  title: string;
  address: string;
  models: string[];
}

export interface McpServer extends Fields {
  url?: string;
  command?: string;
  args?: string[];
  env?: Record<string, string>;
  enabled?: boolean;
}

export interface ServerSettings {
  agent_settings: Fields & {
    condenser: Fields & { enabled: boolean; max_size: number };
    agent_context: Fields & { system_message_suffix: string | null };
    mcp_config: Record<string, McpServer>;
  };
  conversation_settings: Fields & { max_iterations: number };
}

/** What names a model, and how it is reached. */
export interface Llm {
  model: string;
  api_key?: string;
  base_url?: string;
}

export const server = {
  settings: () => ask<ServerSettings>("GET", "/api/settings"),
  changeAgent: (agent_settings_diff: Fields) => ask<ServerSettings>("PATCH", "/api/settings", { agent_settings_diff }),
  changeConversations: (conversation_settings_diff: Fields) =>
    ask<ServerSettings>("PATCH", "/api/settings", { conversation_settings_diff }),

  profiles: () => ask<{ profiles: Profile[]; active_profile: string | null }>("GET", "/api/profiles"),
  saveProfile: (name: string, llm: Llm) => ask("POST", `/api/profiles/${encodeURIComponent(name)}`, { llm }),
  removeProfile: (name: string) => ask("DELETE", `/api/profiles/${encodeURIComponent(name)}`),
  checkModel: (llm: Llm | null, profile: string | null) =>
    ask<Finding[]>("POST", "/api/app/check_model", { llm, profile }),
  localModels: () => ask<LocalServer[]>("GET", "/api/app/local_models"),

  secrets: () => ask<{ secrets: { name: string; description: string | null }[] }>("GET", "/api/settings/secrets"),
  saveSecret: (name: string, value: string, description: string) =>
    ask("PUT", "/api/settings/secrets", { name, value, description }),
  removeSecret: (name: string) => ask("DELETE", `/api/settings/secrets/${encodeURIComponent(name)}`),

  addServer: (name: string, config: McpServer) => ask("POST", `/api/settings/mcp/${encodeURIComponent(name)}`, config),
  changeServer: (name: string, config: McpServer) => ask("PATCH", `/api/settings/mcp/${encodeURIComponent(name)}`, config),
  removeServer: (name: string) => ask("DELETE", `/api/settings/mcp/${encodeURIComponent(name)}`),
  testServer: (config: McpServer) =>
    ask<{ ok: boolean; error?: string | null; tools?: (string | { name?: string })[] }>("POST", "/api/mcp/test", {
      server: config,
    }),

  skills: () => ask<{ skills: { name: string; description?: string | null }[] }>("POST", "/api/skills", {}),
};
