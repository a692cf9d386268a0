// What the server can be asked for.

import { dropKey, useKey } from "./key";
import type { Conversation, Offer } from "./wire";

/** How long an answer may take. */
const LIMIT_MS = 60_000;

/** Fails with a sentence for a person. */
async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const key = useKey.getState().key ?? "";
  const headers: Record<string, string> = { "X-Session-API-Key": key };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const sent: RequestInit = { method, headers, signal: AbortSignal.timeout(LIMIT_MS) };
  if (body !== undefined) sent.body = JSON.stringify(body);
  const answer = await fetch(path, sent).catch(() => {
    throw new Error("The server cannot be reached. Is it running?");
  });
  const found: unknown = await answer.json().catch(() => null);
  if (answer.status === 401 && useKey.getState().key === key) dropKey();
  if (!answer.ok) throw new Error(sentence(found) ?? `The server answered ${answer.status}.`);
  return found as T;
}

function sentence(body: unknown): string | null {
  const { detail, exception } = (body ?? {}) as { detail?: unknown; exception?: unknown };
  if (typeof exception === "string") return exception;
  if (typeof detail === "string") return detail;
  const first = Array.isArray(detail) ? (detail[0] as { msg?: unknown; loc?: unknown[] } | undefined) : undefined;
  return typeof first?.msg === "string" ? `${first.loc?.at(-1) ?? ""}: ${first.msg}` : null;
}

export interface Start {
  model: string;
  folder: string;
  message: string;
  policy: "never" | "risky" | "always";
  apiKey: string;
  baseUrl: string;
}

const POLICIES = {
  never: { confirmation_policy: { kind: "NeverConfirm" } },
  risky: { confirmation_policy: { kind: "ConfirmRisky" }, security_analyzer: { kind: "LLMSecurityAnalyzer" } },
  always: { confirmation_policy: { kind: "AlwaysConfirm" }, security_analyzer: { kind: "LLMSecurityAnalyzer" } },
};

const content = (text: string, images: string[] = []) => ({
  role: "user",
  content: [{ type: "text", text }, ...(images.length > 0 ? [{ type: "image", image_urls: images }] : [])],
});
const at = (id: string) => `/api/conversations/${encodeURIComponent(id)}`;

export const api = {
  offer: () => ask<Offer>("GET", "/api/app"),
  demo: () => ask<{ folder: string; task: string }>("POST", "/api/app/demo"),

  list: (page: string | null) =>
    ask<{ items: Conversation[]; next_page_id: string | null }>(
      "GET",
      `/api/conversations/search?limit=50&sort_order=UPDATED_AT_DESC${page ? `&page_id=${page}` : ""}`,
    ),
  get: (id: string) => ask<Conversation>("GET", at(id)),
  rename: (id: string, title: string) => ask("PATCH", at(id), { title }),
  remove: (id: string) => ask("DELETE", at(id)),

  async start(start: Start): Promise<Conversation> {
    const tools = await ask<string[]>("GET", "/api/tools/");
    const llm = {
      model: start.model,
      stream: true,
      ...(start.apiKey && { api_key: start.apiKey }),
      ...(start.baseUrl && { base_url: start.baseUrl }),
    };
    return ask<Conversation>("POST", "/api/conversations", {
      agent: { kind: "Agent", llm, tools: tools.map((name) => ({ name })) },
      workspace: { working_dir: start.folder },
      initial_message: content(start.message),
      ...POLICIES[start.policy],
    });
  },

  send: (id: string, text: string, images: string[]) =>
    ask("POST", `${at(id)}/events`, { ...content(text, images), run: true }),
  /** Goes on. What waits for a word is thereby allowed. */
  run: (id: string) => ask("POST", `${at(id)}/run`),
  pause: (id: string) => ask("POST", `${at(id)}/pause`),
  stop: (id: string) => ask("POST", `${at(id)}/interrupt`),
  /** Allows nothing of what waits, and lets the agent go on knowing why. */
  async reject(id: string, reason: string): Promise<void> {
    await ask("POST", `${at(id)}/events/respond_to_confirmation`, { accept: false, reason });
    await ask("POST", `${at(id)}/run`);
  },
};
