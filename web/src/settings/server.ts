// The server's settings: what can be asked and changed.

import { ask, askSealed, on, send } from "../ask";
import type { Limits } from "../budget";
import type { components } from "../generated/api";
import type { Fields } from "../wire";

type Schemas = components["schemas"];
/** What came out for one layer of a model's connection. */
export type Finding = Schemas["Finding"];
export type McpServer = Schemas["McpServer"];
export type ConversationServer = Schemas["ConversationServer"];

/** What names a model, and how it is reached. */
export interface Llm {
  model: string;
  api_key?: string;
  base_url?: string;
  /** Paid for by the login to ChatGPT. */
  auth_type?: "subscription";
}

export type Webhook = Schemas["Webhook"];

/** What can be said of a webhook; what is left out stays. */
export interface WebhookFields {
  base_url?: string;
  secret?: string;
  headers?: Record<string, string>;
}

/** A server as it is kept, with secrets that only the server can read. */
async function sealedServer(name: string): Promise<McpServer> {
  return (await askSealed("/api/settings")).agent_settings.mcp_config[name] ?? {};
}

const hook = (id: string) => ({ path: { webhook_id: id } });

export const server = {
  settings: () => ask("get", "/api/settings"),
  changeAgent: (agent_settings_diff: Fields) => ask("patch", "/api/settings", { body: { agent_settings_diff } }),
  changeConversations: (conversation_settings_diff: Fields) =>
    ask("patch", "/api/settings", { body: { conversation_settings_diff } }),

  /** What new conversations may use; null: as much as they like. */
  changeUsualBudget: (budget: Limits) => ask("patch", "/api/settings", { body: { misc_settings_diff: { budget } } }),

  profiles: () => ask("get", "/api/profiles"),
  saveProfile: (name: string, llm: Llm) =>
    ask("post", "/api/profiles/{name}", { path: { name }, body: { llm: { ...llm } } }),
  removeProfile: (name: string) => ask("delete", "/api/profiles/{name}", { path: { name } }),
  checkModel: (llm: Llm | null, profile: string | null) =>
    ask("post", "/api/app/check_model", { body: { llm: llm && { ...llm }, profile }, isLong: true }),
  localModels: () => ask("get", "/api/app/local_models"),

  secrets: () => ask("get", "/api/settings/secrets"),
  saveSecret: (name: string, value: string, description: string) =>
    ask("put", "/api/settings/secrets", { body: { name, value, description } }),
  removeSecret: (name: string) => ask("delete", "/api/settings/secrets/{name}", { path: { name } }),

  addServer: (name: string, config: McpServer) =>
    ask("post", "/api/settings/mcp/{settings_key}", { path: { settings_key: name }, body: config }),
  changeServer: (name: string, config: McpServer) =>
    ask("patch", "/api/settings/mcp/{settings_key}", { path: { settings_key: name }, body: config }),
  removeServer: (name: string) => ask("delete", "/api/settings/mcp/{settings_key}", { path: { settings_key: name } }),
  testServer: async (name: string) =>
    ask("post", "/api/mcp/test", { body: { name, server: await sealedServer(name) }, isLong: true }),
  beginLogin: async (name: string) =>
    ask("post", "/api/mcp/oauth/start", { body: { name, server: await sealedServer(name) } }),
  login: (job: string) => ask("get", "/api/mcp/oauth/status/{job_id}", { path: { job_id: job } }),
  /** Uses the token of a login from now on. */
  useLogin: (name: string) => server.changeServer(name, { auth: { strategy: "oauth2" } }),
  serversOf: (id: string) => ask("get", "/api/conversations/{conversation_id}/mcp_servers", on(id)),
  approveServer: (id: string, name: string, fingerprint: string) =>
    ask("post", "/api/conversations/{conversation_id}/mcp_servers", { ...on(id), body: { name, fingerprint } }),

  skills: () => ask("post", "/api/skills", { body: {} }),

  workspaces: () => ask("get", "/api/workspaces"),
  addWorkspace: (path: string) => ask("post", "/api/workspaces", { body: { workspaces: [{ path }] } }),
  removeWorkspace: (path: string) => ask("delete", "/api/workspaces", { query: { path } }),

  webhooks: () => ask("get", "/api/webhooks"),
  addWebhook: (hook: WebhookFields & { base_url: string }) => ask("post", "/api/webhooks", { body: hook }),
  changeWebhook: (id: string, changes: WebhookFields) =>
    ask("patch", "/api/webhooks/{webhook_id}", { ...hook(id), body: changes }),
  removeWebhook: (id: string) => ask("delete", "/api/webhooks/{webhook_id}", hook(id)),
  testWebhook: (id: string) => ask("post", "/api/webhooks/{webhook_id}/test", hook(id)),
  redeliver: (id: string) => ask("post", "/api/webhooks/{webhook_id}/redeliver", hook(id)),
  forgetDeadLetters: (id: string) => ask("delete", "/api/webhooks/{webhook_id}/dead_letters", hook(id)),
  figures: async () => (await send("get", "/metrics")).text(),
};
