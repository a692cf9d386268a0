// Conversations: what can be asked of them.

import { ask, askSealed, at, query } from "./ask";
import { type Mode, plan } from "./plan";
import type { Conversation, Event, Fields, Offer } from "./wire";

/** What a person says to an action that waits. */
export type Answer =
  | { action_id: string; answer: "approve" }
  | { action_id: string; answer: "reject"; reason: string }
  | { action_id: string; answer: "edit"; arguments: Fields };

export interface Start {
  /** The name of a model. */
  model: string;
  /** The name of a profile of the server's, which then says which model. */
  profile: string;
  folder: string;
  message: string;
  policy: "never" | "risky" | "always";
  /** Whether it works at once, or plans first. */
  mode: Mode;
  apiKey: string;
  baseUrl: string;
}

const POLICIES = {
  never: { confirmation_policy: { kind: "NeverConfirm" } },
  risky: { confirmation_policy: { kind: "ConfirmRisky" }, security_analyzer: { kind: "LLMSecurityAnalyzer" } },
  always: { confirmation_policy: { kind: "AlwaysConfirm" }, security_analyzer: { kind: "LLMSecurityAnalyzer" } },
};

/** A message of the user's. */
export const content = (text: string, images: string[] = []) => ({
  role: "user",
  content: [{ type: "text", text }, ...(images.length > 0 ? [{ type: "image", image_urls: images }] : [])],
});

/** A part of the log, with positions. */
export interface HistoryPage {
  /** The oldest first. */
  items: { seq: number; event: Event }[];
  /** What to ask for to get the page before; null: there is none. */
  before_seq: number | null;
}

export interface EventPage {
  /** The newest first. */
  items: Event[];
  next_page_id: string | null;
}

export const api = {
  offer: () => ask<Offer>("GET", "/api/app"),
  demo: () => ask<{ folder: string; task: string }>("POST", "/api/app/demo"),

  list: (page: string | null) =>
    ask<{ items: Conversation[]; next_page_id: string | null }>(
      "GET",
      `/api/conversations/search${query({ limit: 50, sort_order: "UPDATED_AT_DESC", page_id: page })}`,
    ),
  get: (id: string) => ask<Conversation>("GET", at(id)),
  change: (id: string, change: { title?: string; tags?: Record<string, string> }) => ask("PATCH", at(id), change),
  remove: (id: string) => ask("DELETE", at(id)),

  /** Begins with the agent that the server's settings describe, and the model that is chosen here. */
  async start(start: Start): Promise<Conversation> {
    const [tools, settings, profile] = await Promise.all([
      ask<string[]>("GET", "/api/tools/"),
      askSealed<{ agent_settings: Fields; conversation_settings: Fields }>("/api/settings"),
      start.profile ? askSealed<{ config: Fields }>(`/api/profiles/${encodeURIComponent(start.profile)}`) : null,
    ]);
    const llm = {
      ...profile?.config,
      ...(start.model && { model: start.model }),
      ...(start.apiKey && { api_key: start.apiKey }),
      ...(start.baseUrl && { base_url: start.baseUrl }),
      stream: true,
    };
    const conversation = await ask<Conversation>("POST", "/api/conversations", {
      agent_settings: { ...settings.agent_settings, llm, tools: tools.map((name) => ({ name })) },
      secrets_encrypted: true,
      workspace: { working_dir: start.folder },
      max_iterations: settings.conversation_settings["max_iterations"],
      ...(start.mode === "act" && { initial_message: content(start.message) }),
      ...POLICIES[start.policy],
    });
    if (start.mode === "plan") {
      await plan.setMode(conversation.id, "plan");
      await api.send(conversation.id, start.message, []);
    }
    return conversation;
  },

  /** The end of the log, or what stands before a position. */
  history: (id: string, before: number | null) =>
    ask<HistoryPage>("GET", `${at(id)}/history${query({ limit: 100, before_seq: before })}`),
  /** A page of the log. It begins with the event that is named. */
  events: (id: string, first: string | null) =>
    ask<EventPage>(
      "GET",
      `${at(id)}/events/search${query({ sort_order: "TIMESTAMP_DESC", limit: 100, page_id: first })}`,
    ),

  send: (id: string, text: string, images: string[]) =>
    ask("POST", `${at(id)}/events`, { ...content(text, images), run: true }),
  /** Goes on. What waits for a word is thereby allowed. */
  run: (id: string) => ask("POST", `${at(id)}/run`),
  pause: (id: string) => ask("POST", `${at(id)}/pause`),
  stop: (id: string) => ask("POST", `${at(id)}/interrupt`),
  /** Answers each of the actions that wait. */
  async answer(id: string, answers: Answer[]): Promise<void> {
    await ask("POST", `${at(id)}/answers`, { answers });
    // Where nothing is left to run, the agent still has to hear of it.
    if (answers.every(({ answer }) => answer === "reject")) await ask("POST", `${at(id)}/run`);
  },

  /** Stands at an event, or before the first: what is said next follows it. */
  navigate: (id: string, event: string | null) => ask("POST", `${at(id)}/navigate`, { event_id: event }),
  /** A copy that goes on from an event, or from the end. */
  fork: (id: string, from: string | null) =>
    ask<Conversation>("POST", `${at(id)}/fork`, { from_event_id: from, reset_metrics: false }),
  condense: (id: string) => ask("POST", `${at(id)}/condense`),
  askAside: (id: string, question: string) => ask<{ response: string }>("POST", `${at(id)}/ask_agent`, { question }),
  switchProfile: (id: string, name: string) => ask("POST", `${at(id)}/switch_profile`, { profile_name: name }),
  setPolicy: (id: string, policy: Start["policy"]) =>
    ask("POST", `${at(id)}/confirmation_policy`, { policy: POLICIES[policy].confirmation_policy }),
};
