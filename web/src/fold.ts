// A conversation as the screen shows it: a fold over the frames of its stream. Everything shown comes from here,
// so it cannot contradict the log. Frames that were seen before change nothing.

import { type Change, noteChange } from "./changes";
import { type Meter, meterOf } from "./meter";
import type { ActionEvent, Classification, Event, Frame, Observation, Risk, Status } from "./wire";
import { imagesOf, textOf } from "./wire";

export type Result =
  | { type: "answer"; observation: Observation }
  | { type: "error"; text: string }
  | { type: "rejected"; reason: string };

export interface Call {
  type: "call";
  id: string;
  time: string;
  event: ActionEvent;
  risk: Risk;
  result: Result | null;
}

export type Item =
  | { type: "message"; id: string; time: string; from: "user" | "agent"; text: string; images: string[] }
  | Call
  | { type: "note"; id: string; time: string; text: string }
  | { type: "failure"; id: string; time: string; code: string; text: string; classification: Classification | null };

/** A reply that is being written. `isPartial`: we came in the middle of it. */
export interface Draft {
  id: string;
  attempt: number;
  text: string;
  reasoning: string;
  isPartial: boolean;
}

/** A message that the server has not confirmed yet. */
export interface Unsent {
  key: number;
  text: string;
  images: string[];
  failure: string | null;
}

export interface Task {
  title: string;
  notes: string;
  status: "todo" | "in_progress" | "done";
}

export interface View {
  /** The position up to which the log is known; −1: nothing of it. */
  seq: number;
  /** Whether the history has been replayed. */
  isCurrent: boolean;
  status: Status;
  items: Item[];
  draft: Draft | null;
  unsent: Unsent[];
  meter: Meter;
  model: string;
  folder: string;
  tasks: Task[];
  changes: Change[];
}

export const EMPTY: View = {
  seq: -1,
  isCurrent: false,
  status: "idle",
  items: [],
  draft: null,
  unsent: [],
  meter: meterOf(undefined),
  model: "",
  folder: "",
  tasks: [],
  changes: [],
};

/** Calls that have no result yet. While the conversation waits for a word, these are what it is about. */
export function openCalls(view: View): Call[] {
  return view.items.filter((item): item is Call => item.type === "call" && item.result === null);
}

/** Folds frames; `view` is replaced by each batch that changes something. */
export class Fold {
  view: View = EMPTY;
  private readonly places = new Map<string, number>();
  private readonly changes = new Map<string, Change>();
  private through = -1;
  private lastKey = 0;
  /** What the batch under way has changed. */
  private next: View = EMPTY;

  apply(frames: readonly Frame[]): View {
    this.next = { ...this.view, items: this.view.items.slice() };
    for (const frame of frames) this.take(frame);
    this.next.isCurrent ||= this.next.seq >= this.through;
    this.view = this.next;
    return this.view;
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
        next.isCurrent = next.seq >= this.through;
        next.draft = null; // what is being written is told again, or soon stored
        break;
      case "durable":
        if (frame.seq <= next.seq) break;
        next.seq = frame.seq;
        this.event(frame.event);
        break;
      case "transient":
        next.isCurrent = true; // the state is told behind the history, whose last event may not be for us
        this.event(frame.event);
        break;
      case "item_started":
        next.draft = { id: frame.item_id, attempt: frame.attempt, text: "", reasoning: "", isPartial: false };
        break;
      case "delta": {
        const known = next.draft?.id === frame.item_id ? next.draft : null;
        const draft = known ?? { id: frame.item_id, attempt: frame.attempt, text: "", reasoning: "", isPartial: true };
        next.draft = { ...draft, [frame.kind]: draft[frame.kind] + frame.content };
        break;
      }
      case "item_aborted":
        if (next.draft?.id === frame.item_id) next.draft = null;
        break;
      case "error":
        break; // answers to what is sent by socket, and this app sends nothing by it
    }
  }

  private event(event: Event): void {
    const { next } = this;
    const base = { id: event.id, time: event.timestamp };
    switch (event.kind) {
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
        this.places.set(event.tool_call_id, next.items.length);
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
        this.add({ type: "note", ...base, text: "Paused" });
        break;
      case "InterruptEvent":
        next.draft = null;
        this.add({ type: "note", ...base, text: "Stopped" });
        break;
      case "Condensation":
        this.add({ type: "note", ...base, text: "Earlier steps were summarised to make room" });
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
    this.next.items.push(item);
  }

  /** Whether there was such a call. */
  private result(toolCall: string, result: Result): boolean {
    const place = this.places.get(toolCall);
    const call = place === undefined ? undefined : this.next.items[place];
    if (place === undefined || call?.type !== "call") return false;
    this.next.items[place] = { ...call, result };
    return true;
  }

  private judge(action: string, risk: Risk): void {
    const place = this.next.items.findLastIndex((item) => item.id === action);
    const call = this.next.items[place];
    if (call?.type === "call") this.next.items[place] = { ...call, risk };
  }

  private remember(observation: Observation): void {
    if (noteChange(this.changes, observation)) this.next.changes = [...this.changes.values()];
    if (observation.kind === "TaskTrackerObservation" && Array.isArray(observation["task_list"])) {
      this.next.tasks = observation["task_list"] as Task[];
    }
  }

  private update(key: string, value: unknown): void {
    const { next } = this;
    switch (key) {
      case "full_state":
        for (const [part, of] of Object.entries((value ?? {}) as object)) this.update(part, of);
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
