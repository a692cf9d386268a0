// A conversation as the screen shows it: a fold over the frames of its stream. Everything shown comes from here,
// so it cannot contradict the log. Frames that were seen before change nothing. The end of the log is loaded first;
// earlier pages are folded by themselves and put before it. What happened is kept in `items.ts`, how it branches in
// `tree.ts`.

import type { HistoryPage } from "./api";
import { type Change, noteChange, noteEarlier } from "./changes";
import { actionOf, type ExternalCall, resultOf } from "./external-call";
import { Items } from "./items";
import { withoutAction, withPiece } from "./output";
import { Spending } from "./spending";
import { takeState } from "./state";
import { isNode, Tree } from "./tree";
import { briefingOf, EMPTY, type Item, type Result, type Task, type Unsent, type View } from "./view";
import type { Event, Frame, Observation } from "./wire";
import { imagesOf, screenshotOf, textOf } from "./wire";
import { t } from "./words";

/** The history is not told: it comes by pages. */
const PAGES = Infinity;
/** Folds frames; `view` is replaced by each batch that changes something. */
export class Fold {
  view: View = EMPTY;
  /** Whether the reader is at the end: what stands far before it may be forgotten. */
  isAtEnd = true;
  private readonly tree = new Tree();
  private readonly items = new Items();
  private readonly spending = new Spending();
  private readonly changes = new Map<string, Change>();
  /** Before which position the page before ends. */
  private before: number | null = null;
  /** Where what is being taken in stands. */
  private at = 0;
  private through = -1;
  /** Whether the state was told. Until then the status is none that anybody should hear of. */
  private isStateTold = false;
  /** What the batch under way has changed. */
  private next: View = EMPTY;

  apply(frames: readonly Frame[]): View {
    this.next = { ...this.view };
    for (const frame of frames) this.take(frame);
    this.next.isCurrent ||= this.isStateTold && this.next.seq >= this.through;
    this.shorten();
    return this.show();
  }

  /** Before which position earlier pages stand; null: nothing is loaded yet. */
  get earlier(): number | null {
    return this.before;
  }

  /** Puts a page before what is loaded. Before the stream has begun it is the end of the log, which is followed then. */
  prepend({ items, before_seq: before }: HistoryPage): View {
    const fresh = items.filter(({ event }) => !isNode(event) || !this.tree.has(event.id));
    const earlier = new Fold();
    earlier.apply(fresh.map((item) => ({ type: "durable", ...item })));
    this.next = { ...this.view, hasEarlier: before !== null };
    this.before = before;
    if (this.through === PAGES) {
      this.next.isCurrent = this.isStateTold;
      this.through = -1;
    } else if (!this.next.isCurrent) {
      this.next.seq = Math.max(this.next.seq, earlier.view.seq);
    }
    this.tree.prepend(earlier.tree);
    this.items.prepend(earlier.items);
    if (noteEarlier(this.changes, earlier.changes)) this.next.changes = [...this.changes.values()];
    if (this.next.tasks.length === 0) this.next.tasks = earlier.view.tasks;
    this.next.goal ??= earlier.view.goal;
    this.next.briefing ??= earlier.view.briefing;
    this.next.screenshot ??= earlier.view.screenshot;
    this.endDraft();
    return this.show();
  }

  /** What is being written is stored by now. */
  private endDraft(): void {
    if (this.next.draft && this.tree.has(this.next.draft.id)) this.next.draft = null;
  }

  /** Whether the log has an event, as far as it is loaded. */
  has(id: string): boolean {
    return this.tree.has(id);
  }

  /** The event before this one: where to stand to say something else in its place. */
  parentOf(id: string): string | null {
    return this.tree.parent(id);
  }

  /** Messages that were said in the same place, this one included, in their order. */
  versionsOf(id: string): string[] {
    const parent = this.tree.parent(id);
    const isVersion = (item: Item) =>
      item.type === "message" && item.from === "user" && this.tree.parent(item.id) === parent;
    return this.items.filter(isVersion).map((item) => item.id);
  }

  leafOf(id: string): string {
    return this.tree.leafOf(id);
  }

  get standing(): string | null {
    return this.tree.standing;
  }

  private show(): View {
    if (this.next.unsent.some(({ id }) => this.tree.has(id))) {
      this.next.unsent = this.next.unsent.filter(({ id }) => !this.tree.has(id));
    }
    // What follows the place where it stands may be loaded before that: it was taken back, and is not shown.
    const isMissing = this.tree.standsElsewhere && !this.next.hasEarlier;
    if (this.items.areNew) this.next.items = this.items.on(isMissing ? null : this.tree.way());
    this.view = this.next;
    return this.view;
  }

  private shorten(): void {
    const first = this.isAtEnd && this.tree.isAtEnd ? this.items.shorten() : null;
    if (!first) return;
    this.tree.forgetBefore(first.id);
    this.before = first.seq ?? this.before;
    this.next.hasEarlier = true;
  }

  /** A message is on its way, for the first time or once more. */
  sending(message: Omit<Unsent, "failure">): void {
    const others = this.view.unsent.filter(({ id }) => id !== message.id);
    this.view = { ...this.view, unsent: [...others, { ...message, failure: null }] };
  }

  /** It could not be sent, as far as is known; without a failure it is taken back. */
  unsent(id: string, failure: string | null): void {
    const isGone = failure === null || this.tree.has(id);
    const marked = this.view.unsent.map((message) => (message.id === id ? { ...message, failure } : message));
    this.view = { ...this.view, unsent: isGone ? marked.filter((message) => message.id !== id) : marked };
  }

  private take(frame: Frame): void {
    const { next } = this;
    switch (frame.type) {
      case "sync":
        this.through = frame.through_seq ?? -1;
        if (frame.from_seq === undefined) {
          next.seq = this.through;
          this.through = PAGES;
        }
        next.isCurrent = this.isStateTold && next.seq >= this.through;
        next.draft = null; // what is being written is told again, or soon stored
        next.preparing = null; // its end may have been missed
        break;
      case "durable":
        if (frame.seq <= next.seq) break;
        next.seq = this.at = frame.seq;
        if (frame.seq === 0) this.spending.begin();
        this.event(frame.event, true, frame.before_circle);
        break;
      case "transient":
        this.at = next.seq + 1;
        this.isStateTold ||= frame.event.kind === "ConversationStateUpdateEvent" && frame.event.key === "full_state";
        next.isCurrent ||= this.isStateTold && this.through < PAGES; // the state comes behind the history, whose end may not be for us
        this.event(frame.event, false);
        break;
      case "item_started":
        if (this.tree.has(frame.item_id)) break;
        next.draft = { id: frame.item_id, attempt: frame.attempt, text: "", reasoning: "", isPartial: false };
        next.preparing = null;
        break;
      case "delta": {
        if (this.tree.has(frame.item_id)) break; // pieces may come later than the whole
        const known = next.draft?.id === frame.item_id ? next.draft : null;
        const draft = known ?? { id: frame.item_id, attempt: frame.attempt, text: "", reasoning: "", isPartial: true };
        next.draft = { ...draft, [frame.kind]: draft[frame.kind] + frame.content };
        break;
      }
      case "item_aborted":
        if (next.draft?.id === frame.item_id) next.draft = null;
        break;
      case "output":
        if (this.items.isSettled(frame.action_id)) break; // pieces may come later than the whole
        next.output = frame.is_whole
          ? { ...next.output, [frame.action_id]: frame.content }
          : withPiece(next.output, frame.action_id, frame.content);
        break;
      case "preparing":
        next.preparing = frame.line;
        break;
      case "prepared":
        next.preparing = null;
        break;
      case "host_questions":
        next.hostQuestions = frame.questions;
        break;
      case "error":
        break; // answers to what is sent by socket, and this app sends nothing by it
    }
  }

  private event(event: Event, isStored: boolean, rewindTo?: string): void {
    const { next } = this;
    const { meter } = next;
    const base = { id: event.id, time: event.timestamp };
    if (event.kind !== "ConversationStateUpdateEvent" || event.key === "executor") next.preparing = null;
    if (isNode(event)) {
      if (this.tree.has(event.id)) return this.endDraft(); // it came with a page, too
      if (this.tree.add(event.id, event.parent_id)) this.items.areNew = true;
    }
    switch (event.kind) {
      case "SystemPromptEvent":
        next.briefing = briefingOf(event);
        break;
      case "MessageEvent": {
        const { llm_message: { content }, critic_result: critic } = event;
        const from = event.source === "user" || event.source === "agent" ? event.source : "environment";
        const text = textOf(content);
        if (from !== "user") next.draft = null;
        const spent = from === "agent" ? this.spending.take() : {};
        const { reasoning_content: reasoning } = event.llm_message;
        this.add({ type: "message", ...base, from, text, images: imagesOf(content), ...(reasoning && { reasoning }), ...(critic && { critic }), ...spent });
        break;
      }
      case "ActionEvent":
        next.draft = null;
        this.add({ type: "call", ...base, event, risk: event.security_risk ?? "UNKNOWN", result: null, ...this.spending.take() });
        break;
      case "ACPToolCallEvent":
        this.externalCall(event, base);
        break;
      case "ObservationEvent":
        this.result(event.tool_call_id, { type: "answer", observation: event.observation, added: textOf(event.extended_content) });
        this.remember(event.observation);
        break;
      case "AgentErrorEvent":
        if (!this.result(event.tool_call_id, { type: "error", text: event.error })) {
          this.add({ type: "failure", ...base, code: "", text: event.error, classification: null });
        }
        break;
      case "UserRejectObservation":
        this.result(event.tool_call_id, { type: "rejected", reason: event.rejection_reason });
        break;
      case "ConversationErrorEvent":
      case "ServerErrorEvent": {
        const classification = "classification" in event ? (event.classification ?? null) : null;
        next.draft = null;
        this.add({ type: "failure", ...base, code: event.code, text: event.detail, classification, ...(rewindTo && { rewindTo }) });
        break;
      }
      case "PauseEvent":
        this.add({ type: "note", ...base, text: t("Paused") });
        break;
      case "InterruptEvent":
        next.draft = null;
        this.add({ type: "note", ...base, text: t("Stopped") });
        break;
      case "Condensation":
        this.add({
          type: "note",
          ...base,
          text: t("Earlier steps were summarised to make room"),
          ...(event.summary && { more: event.summary }),
        });
        break;
      case "SecurityAnalysisEvent":
        for (const [id, risk] of Object.entries(event.risks)) {
          const why = (event.details as Record<string, unknown> | undefined)?.[id];
          this.items.change(id, (call) => ({ ...call, risk, ...(typeof why === "string" && { why }) }));
        }
        break;
      case "ConversationStateUpdateEvent":
        takeState(next, event.key, event.value, (head) => (this.items.areNew = this.tree.move(head) || this.items.areNew));
        if (next.meter !== meter) this.spending.count(next.meter, isStored);
        break;
    }
  }

  /** An external agent tells of each call when it begins and when it ends, under an id that a later turn may use again. */
  private externalCall(event: ExternalCall, base: { id: string; time: string }): void {
    const result = resultOf(event);
    if (this.items.isOpen(event.tool_call_id)) {
      if (result) this.result(event.tool_call_id, result);
      return;
    }
    this.add({ type: "call", ...base, event: actionOf(event), risk: "UNKNOWN", result, isExternal: true });
  }

  private add(item: Item): void {
    this.items.add(item, this.at);
  }

  /** Whether there was such a call. */
  private result(toolCall: string, result: Result): boolean {
    const action = this.items.settle(toolCall, result);
    if (action !== null) this.next.output = withoutAction(this.next.output, action);
    return action !== null;
  }

  private remember(observation: Observation): void {
    if (noteChange(this.changes, observation)) this.next.changes = [...this.changes.values()];
    if (observation.kind === "TaskTrackerObservation" && Array.isArray(observation["task_list"])) {
      this.next.tasks = observation["task_list"] as Task[];
    }
    const image = screenshotOf(observation);
    if (image) this.next.screenshot = { image, address: String(observation["url"] ?? "") };
  }
}
