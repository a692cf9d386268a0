// A conversation as the screen shows it: a fold over the frames of its stream. Everything shown comes from here,
// so it cannot contradict the log. Frames that were seen before change nothing. The end of the log is loaded first;
// earlier pages are folded by themselves and put before it.

import type { HistoryPage } from "./api";
import { type Change, noteChange, noteEarlier } from "./changes";
import { meterOf } from "./meter";
import { withoutAction, withPiece } from "./output";
import { isNode, Tree } from "./tree";
import { type Call, EMPTY, type Item, type Result, type Task, type Unsent, type View } from "./view";
import type { Event, Frame, Observation, Risk, Status } from "./wire";
import { imagesOf, screenshotOf, textOf } from "./wire";
import { t } from "./words";

/** More items than this are not held; the earliest are forgotten, and loaded again when somebody looks. */
const MAX_ITEMS = 3_000;
const KEPT_ITEMS = 2_000;
/** The history is not told: it comes by pages. */
const PAGES = Infinity;
/** So far behind its call a result may stand. */
const NEAR = 20;

/** Folds frames; `view` is replaced by each batch that changes something. */
export class Fold {
  view: View = EMPTY;
  /** Whether the reader is at the end: what stands far before it may be forgotten. */
  isAtEnd = true;
  private readonly tree = new Tree();
  /** Items of all branches, in the order of the log. */
  private all: Item[] = [];
  private areItemsNew = false;
  /** The action of a call. */
  private readonly places = new Map<string, string>();
  /** Results whose calls are not loaded yet. */
  private readonly orphans = new Map<string, Result>();
  private readonly changes = new Map<string, Change>();
  /** Before which position the page before ends. */
  private before: number | null = null;
  /** Where items stand in the log. */
  private readonly seqs = new Map<string, number>();
  /** Where what is being taken in stands. */
  private at = 0;
  private through = -1;
  private lastKey = 0;
  /** What the batch under way has changed. */
  private next: View = EMPTY;

  apply(frames: readonly Frame[]): View {
    this.next = { ...this.view };
    for (const frame of frames) this.take(frame);
    this.next.isCurrent ||= this.next.seq >= this.through;
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
      this.next.isCurrent = true;
      this.through = -1;
    } else if (!this.next.isCurrent) {
      this.next.seq = Math.max(this.next.seq, earlier.view.seq);
    }
    this.tree.prepend(earlier.tree);
    this.all = [...earlier.all.map((item) => this.withResult(item)), ...this.all];
    this.areItemsNew = true;
    for (const [call, result] of earlier.orphans) this.orphans.set(call, result);
    for (const [call, action] of earlier.places) this.places.set(call, action);
    for (const [id, seq] of earlier.seqs) this.seqs.set(id, seq);
    if (noteEarlier(this.changes, earlier.changes)) this.next.changes = [...this.changes.values()];
    if (this.next.tasks.length === 0) this.next.tasks = earlier.view.tasks;
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
    return this.all.filter(isVersion).map((item) => item.id);
  }

  leafOf(id: string): string {
    return this.tree.leafOf(id);
  }

  private show(): View {
    if (this.areItemsNew) {
      const way = this.tree.way();
      this.next.items = way ? this.all.filter((item) => way.has(item.id)) : this.all.slice();
      this.areItemsNew = false;
    }
    this.view = this.next;
    return this.view;
  }

  private shorten(): void {
    if (this.all.length <= MAX_ITEMS || !this.isAtEnd) return;
    const gone = this.all.splice(0, this.all.length - KEPT_ITEMS);
    for (const [place, item] of gone.entries()) {
      this.seqs.delete(item.id);
      if (item.type !== "call") continue;
      this.places.delete(item.event.tool_call_id);
      if (item.result && place >= gone.length - NEAR) this.orphans.set(item.event.tool_call_id, item.result);
    }
    const first = this.all[0];
    if (!first) return;
    this.tree.forgetBefore(first.id);
    this.before = this.seqs.get(first.id) ?? this.before;
    this.next.hasEarlier = true;
    this.areItemsNew = true;
  }

  private withResult(item: Item): Item {
    const result = item.type === "call" && !item.result ? this.orphans.get(item.event.tool_call_id) : undefined;
    if (item.type !== "call" || !result) return item;
    this.orphans.delete(item.event.tool_call_id);
    return { ...item, result };
  }

  /** A message that is on its way. */
  sending(text: string, images: string[] = []): number {
    const key = ++this.lastKey;
    this.view = { ...this.view, unsent: [...this.view.unsent, { key, text, images, failure: null }] };
    return key;
  }

  /** It could not be sent; without a failure it is taken back. */
  unsent(key: number, failure: string | null): void {
    const others = this.view.unsent.filter((message) => message.key !== key);
    const message = this.view.unsent.find((message) => message.key === key);
    this.view = { ...this.view, unsent: message && failure ? [...others, { ...message, failure }] : others };
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
        next.isCurrent = next.seq >= this.through;
        next.draft = null; // what is being written is told again, or soon stored
        break;
      case "durable":
        if (frame.seq <= next.seq) break;
        next.seq = this.at = frame.seq;
        this.event(frame.event);
        break;
      case "transient":
        this.at = next.seq + 1;
        next.isCurrent ||= this.through < PAGES; // the state is told behind the history, whose end may not be for us
        this.event(frame.event);
        break;
      case "item_started":
        if (this.tree.has(frame.item_id)) break;
        next.draft = { id: frame.item_id, attempt: frame.attempt, text: "", reasoning: "", isPartial: false };
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
        next.output = withPiece(next.output, frame.action_id, frame.content);
        break;
      case "error":
        break; // answers to what is sent by socket, and this app sends nothing by it
    }
  }

  private event(event: Event): void {
    const { next } = this;
    const base = { id: event.id, time: event.timestamp };
    if (isNode(event)) {
      if (this.tree.has(event.id)) return this.endDraft(); // it came with a page, too
      if (this.tree.add(event.id, event.parent_id)) this.areItemsNew = true;
    }
    switch (event.kind) {
      case "SystemPromptEvent":
        next.briefing = {
          prompt: event.system_prompt?.text ?? "",
          context: event.dynamic_context?.text ?? "",
          tools: event.tools ?? [],
        };
        break;
      case "MessageEvent": {
        const { content } = event.llm_message;
        const from = event.source === "user" ? "user" : "agent";
        const text = textOf(content);
        if (from === "agent") next.draft = null;
        else next.unsent = withoutFirst(next.unsent, text);
        this.add({ type: "message", ...base, from, text, images: imagesOf(content) });
        break;
      }
      case "ActionEvent":
        next.draft = null;
        this.places.set(event.tool_call_id, event.id);
        this.add({ type: "call", ...base, event, risk: event.security_risk ?? "UNKNOWN", result: null });
        break;
      case "ObservationEvent":
        this.result(event.tool_call_id, { type: "answer", observation: event.observation });
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
        this.add({ type: "failure", ...base, code: event.code, text: event.detail, classification });
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
        this.add({ type: "note", ...base, text: t("Earlier steps were summarised to make room") });
        break;
      case "SecurityAnalysisEvent":
        for (const [id, risk] of Object.entries(event.risks)) this.judge(id, risk);
        break;
      case "ConversationStateUpdateEvent":
        this.update(event.key, event.value);
        break;
    }
  }

  private add(item: Item): void {
    this.all.push(item);
    this.seqs.set(item.id, this.at);
    this.areItemsNew = true;
  }

  private change(id: string, change: (call: Call) => Call): void {
    const place = this.all.findLastIndex((item) => item.id === id);
    const call = this.all[place];
    if (call?.type !== "call") return;
    this.all[place] = change(call);
    this.areItemsNew = true;
  }

  /** Whether there was such a call. */
  private result(toolCall: string, result: Result): boolean {
    const action = this.places.get(toolCall);
    if (action === undefined) {
      this.orphans.set(toolCall, result);
      return false;
    }
    this.next.output = withoutAction(this.next.output, action);
    this.change(action, (call) => ({ ...call, result }));
    return true;
  }

  private judge(action: string, risk: Risk): void {
    this.change(action, (call) => ({ ...call, risk }));
  }

  private remember(observation: Observation): void {
    if (noteChange(this.changes, observation)) this.next.changes = [...this.changes.values()];
    if (observation.kind === "TaskTrackerObservation" && Array.isArray(observation["task_list"])) {
      this.next.tasks = observation["task_list"] as Task[];
    }
    const image = screenshotOf(observation);
    if (image) this.next.screenshot = { image, address: String(observation["url"] ?? "") };
  }

  private update(key: string, value: unknown): void {
    const { next } = this;
    switch (key) {
      case "full_state":
        for (const [part, of] of Object.entries((value ?? {}) as object)) this.update(part, of);
        break;
      case "leaf_event_id":
        if (typeof value === "string" && this.tree.move(value)) this.areItemsNew = true;
        break;
      case "head_is_empty":
        if (value === true && this.tree.move(null)) this.areItemsNew = true;
        break;
      case "confirmation_policy":
        next.policy = (value as { kind?: string })?.kind ?? next.policy;
        break;
      case "execution_status":
        next.status = value as Status;
        break;
      case "stats":
        next.meter = meterOf(value as Parameters<typeof meterOf>[0]);
        break;
      case "agent":
        next.model = (value as { llm?: { model?: string } })?.llm?.model ?? next.model;
        break;
      case "workspace":
        next.folder = (value as { working_dir?: string })?.working_dir ?? next.folder;
        break;
    }
  }
}

function withoutFirst(unsent: Unsent[], text: string): Unsent[] {
  const place = unsent.findIndex((message) => message.text === text && message.failure === null);
  return place < 0 ? unsent : unsent.toSpliced(place, 1);
}
