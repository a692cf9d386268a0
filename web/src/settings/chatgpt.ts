// The login to ChatGPT: a code that a person enters there, and who is logged in.

import { type Answer, ask } from "../ask";

export type DeviceLogin = Answer<"post", "/api/llm/subscription/openai/device/start">;

export const chatgpt = {
  status: () => ask("get", "/api/llm/subscription/openai/status"),
  start: () => ask("post", "/api/llm/subscription/openai/device/start"),
  /** Who is logged in by now. */
  poll: (code: string) => ask("post", "/api/llm/subscription/openai/device/poll", { body: { device_code: code } }),
  logOut: () => ask("post", "/api/llm/subscription/openai/logout"),
  models: async () => (await ask("get", "/api/llm/subscription/openai/models")).models.map(String),
};
