// Conversations: what can be asked of them.

import { type Answer, ask, askSealed, on, Refused } from "./ask";
import { bring, naming } from "./attachments";
import { budgets, type Limits, usualBudget } from "./budget";
import { keepUnsent } from "./drafts";
import { freshId } from "./fresh-id";
import type { components } from "./generated/api";
import { llmOf } from "./llm";
import { type Mode, plan } from "./plan";
import { type Analyzer, type Policy, safetyOf } from "./safety";
import { type Briefing, briefingOf } from "./view";
import { type Content, type Conversation, type Fields, textOf } from "./wire";
import { t } from "./words";

/** What a person says to an action that waits. */
export type Decision = components["schemas"]["Answer"];

/** A part of the log, with positions: the oldest first. `before_seq` is what to ask for to get the page before. */
export type HistoryPage = Answer<"get", "/api/conversations/{conversation_id}/history">;

/** Events that more than fill a screen. */
const FIRST_EVENTS = 60;

export interface Start {
  /** The name of a model. */
  model: string;
  /** The name of a profile of the server's, which then says which model and how it is reached. */
  profile: string;
  folder: string;
  message: string;
  images: string[];
  /** What goes into the workspace before the message is said, which names it. */
  files: File[];
  /** A program that works in the place of our own agent. */
  external: Fields | null;
  policy: Policy;
  analyzer: Analyzer;
  /** Whether it works at once, or plans first. */
  mode: Mode;
  apiKey: string;
  baseUrl: string;
}

/** A message of the user's. */
export const content = (text: string, images: string[] = []): { role: string; content: Content[] } => ({
  role: "user",
  content: [{ type: "text", text }, ...(images.length > 0 ? [{ type: "image" as const, image_urls: images }] : [])],
});

/** Its model, and the tools that suit it. */
async function ownAgent(start: Start, profile: Fields | null): Promise<Fields> {
  const llm = llmOf(start, profile);
  const { tools } = await ask("get", "/api/tools/catalog", { query: { model: String(llm["model"] ?? "") } });
  return { llm, tools: tools.filter((tool) => tool.in_default_set).map(({ name }) => ({ name })) };
}

/** Says the first message where something comes before it. If that fails, nothing was begun. A message that seems to have
 * failed may have arrived: the conversation shows what became of it. */
async function sayFirst({ id, workspace }: Conversation, { mode, message, images, files }: Start, budget: Limits): Promise<void> {
  const prepare = async () => {
    if (Object.keys(budget).length > 0) await budgets.set(id, budget);
    if (mode === "plan") await plan.setMode(id, "plan");
    return bring(id, workspace.working_dir, files);
  };
  const names = await prepare().catch(async (error: unknown) => {
    await api.remove(id).catch(() => {});
    throw error;
  });
  const [own, text] = [freshId(), naming(message, names)];
  await api.send(id, own, text, images).catch((error: unknown) => {
    keepUnsent(id, [{ id: own, text, images, failure: error instanceof Error ? error.message : String(error) }]);
  });
}

export const api = {
  offer: () => ask("get", "/api/app"),
  demo: () => ask("post", "/api/app/demo", { isLong: true }),

  list: (page: string | null) =>
    ask("get", "/api/conversations/search", { query: { limit: 50, sort_order: "UPDATED_AT_DESC", page_id: page } }),
  /** Those in whose messages these words stand. */
  said: (words: string) =>
    ask("get", "/api/conversations/search", { query: { limit: 50, sort_order: "UPDATED_AT_DESC", said: words } }),
  get: (id: string) => ask("get", "/api/conversations/{conversation_id}", on(id)),
  change: (id: string, body: { title?: string; tags?: Record<string, string> }) =>
    ask("patch", "/api/conversations/{conversation_id}", { ...on(id), body }),
  remove: (id: string) => ask("delete", "/api/conversations/{conversation_id}", on(id)),

  /** Begins with the agent that the server's settings describe, and the model that is chosen here. */
  async start(start: Start): Promise<Conversation> {
    const [settings, profile] = await Promise.all([
      askSealed("/api/settings"),
      start.profile && !start.external ? askSealed("/api/profiles/{name}", { path: { name: start.profile } }) : null,
    ]);
    const agent = start.external ?? { ...settings.agent_settings, ...(await ownAgent(start, profile && profile.config)) };
    const budget = start.model === "demo" ? {} : usualBudget(settings);
    const isSaidAtOnce = start.mode === "act" && start.files.length === 0 && Object.keys(budget).length === 0;
    const id = freshId();
    const conversation = await ask("post", "/api/conversations", {
      body: {
        conversation_id: id,
        agent_settings: agent,
        secrets_encrypted: true,
        workspace: { working_dir: start.folder },
        max_iterations: settings.conversation_settings.max_iterations,
        ...(isSaidAtOnce && { initial_message: content(start.message, start.images) }),
        ...safetyOf(start.policy, start.analyzer),
      },
      isLong: true,
    }).catch(async (error: unknown) => {
      // Only the answer may have been lost.
      const made = await api.get(id).catch(() => null);
      if (!made) throw error;
      return made;
    });
    if (!isSaidAtOnce) await sayFirst(conversation, start, budget);
    return conversation;
  },

  /** The end of the log, of which little is soon there, or what stands before a position. */
  history: (id: string, before: number | null) =>
    ask("get", "/api/conversations/{conversation_id}/history", {
      ...on(id),
      query: { limit: before === null ? FIRST_EVENTS : 100, before_seq: before },
    }),
  /** A page of the log, the newest first. It begins with the event that is named. */
  events: (id: string, first: string | null) =>
    ask("get", "/api/conversations/{conversation_id}/events/search", {
      ...on(id),
      query: { sort_order: "TIMESTAMP_DESC", limit: 100, page_id: first },
    }),

  /** What the model is told before everything else; null: nothing yet. */
  async briefing(id: string): Promise<Briefing | null> {
    const { items } = await ask("get", "/api/conversations/{conversation_id}/events/search", {
      ...on(id),
      query: { kind: "SystemPromptEvent", sort_order: "TIMESTAMP_DESC", limit: 1 },
    });
    const [event] = items;
    return event?.kind === "SystemPromptEvent" ? briefingOf(event) : null;
  },

  /** What the user has said, the latest first, each once. */
  async ownMessages(id: string): Promise<string[]> {
    const { items } = await ask("get", "/api/conversations/{conversation_id}/events/search", {
      ...on(id),
      query: { kind: "MessageEvent", source: "user", sort_order: "TIMESTAMP_DESC", limit: 100 },
    });
    const texts = items.flatMap((event) => (event.kind === "MessageEvent" ? [textOf(event.llm_message.content)] : []));
    return [...new Set(texts.filter((text) => text.trim()))];
  },

  /** What the model would be sent next. */
  context: (id: string) => ask("get", "/api/conversations/{conversation_id}/context", on(id)),

  /** Says something; what waits for a word is thereby rejected. Its event has the id of the message, so that it is said
   * once however often it is sent. */
  send: (id: string, message: string, text: string, images: string[]) =>
    ask("post", "/api/conversations/{conversation_id}/events", {
      ...on(id),
      body: { ...content(text, images), run: true, rejects: true },
      headers: { "Idempotency-Key": message },
    }),
  /** Goes on. What waits for a word is thereby allowed. */
  run: (id: string) => ask("post", "/api/conversations/{conversation_id}/run", on(id)),
  pause: (id: string) => ask("post", "/api/conversations/{conversation_id}/pause", on(id)),
  stop: (id: string) => ask("post", "/api/conversations/{conversation_id}/interrupt", on(id)),
  /** Answers each of the actions that wait. */
  async answer(id: string, answers: Decision[]): Promise<void> {
    await ask("post", "/api/conversations/{conversation_id}/answers", { ...on(id), body: { answers } });
    // Where nothing is left to run, the agent still has to hear of it.
    if (answers.every(({ answer }) => answer === "reject")) await api.run(id);
  },

  /** Stands at an event, or before the first: what is said next follows it. */
  navigate: (id: string, event: string | null) =>
    ask("post", "/api/conversations/{conversation_id}/navigate", { ...on(id), body: { event_id: event } }),
  /** A copy that goes on from an event, or from the end. */
  fork: (id: string, from: string | null) =>
    ask("post", "/api/conversations/{conversation_id}/fork", {
      ...on(id),
      body: { from_event_id: from, reset_metrics: false },
      isLong: true,
    }),
  /** The agents that are called by name, and their tasks, by which their conversations are found. */
  delegates: (id: string) => ask("get", "/api/conversations/{conversation_id}/delegates", on(id)),
  /** Works until a goal is reached: what comes of each run is judged, and the agent is sent back for what is missing. */
  pursue: (id: string, objective: string) =>
    ask("post", "/api/conversations/{conversation_id}/goal", { ...on(id), body: { objective } }),
  /** Goes on with a goal that was not reached. */
  pursueAgain: (id: string) =>
    ask("post", "/api/conversations/{conversation_id}/goal/resume", on(id)).catch((error: unknown) => {
      const hasNone = error instanceof Refused && error.message === "no_resumable_goal"; // that is what the protocol says
      throw hasNone ? new Error(t("There is no goal to go on with. Write one behind it.")) : error;
    }),
  condense: (id: string) => ask("post", "/api/conversations/{conversation_id}/condense", { ...on(id), isLong: true }),
  askAside: (id: string, question: string) =>
    ask("post", "/api/conversations/{conversation_id}/ask_agent", { ...on(id), body: { question }, isLong: true }),
  switchModel: (id: string, llm: Fields) =>
    ask("post", "/api/conversations/{conversation_id}/switch_llm", { ...on(id), body: { llm } }),
  switchProfile: (id: string, name: string) =>
    ask("post", "/api/conversations/{conversation_id}/switch_profile", { ...on(id), body: { profile_name: name } }),
};
