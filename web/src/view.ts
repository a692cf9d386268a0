// What the screen shows of a conversation. The fold makes it.

import type { AskedHost } from "./allow";
import type { Change } from "./changes";
import { type Meter, meterOf } from "./meter";
import type { LiveOutput } from "./output";
import type { Spent } from "./spending";
import type { ActionEvent, Classification, CriticResult, Observation, Risk, Status, SystemPromptEvent, ToolDefinition } from "./wire";

export type Result =
  | { type: "answer"; observation: Observation; /** What was added to it for the agent. */ added?: string }
  | { type: "error"; text: string }
  | { type: "rejected"; reason: string };

export interface Call {
  type: "call";
  id: string;
  time: string;
  event: ActionEvent;
  risk: Risk;
  /** Why it is thought so risky, where there is more to say than how much. */
  why?: string;
  result: Result | null;
  /** An external agent makes it: it waits for nobody here. */
  isExternal?: true;
  /** What the step has used; on the first call of a step, where it is known. */
  spent?: Spent;
}

/** Who says something: what is around the agent speaks to it, too. */
export type Speaker = "user" | "agent" | "environment";

export type Item =
  | { type: "message"; id: string; time: string; from: Speaker; text: string; images: string[]; reasoning?: string; critic?: CriticResult; spent?: Spent }
  | Call
  /** `more`: what there is to say about it. */
  | { type: "note"; id: string; time: string; text: string; more?: string }
  /** `rewindTo`: the event before an agent began to go in circles. */
  | { type: "failure"; id: string; time: string; code: string; text: string; classification: Classification | null; rewindTo?: string };

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
  /** The one that its event will have. */
  id: string;
  text: string;
  images: string[];
  /** Whether it is to wait for the end of the turn. */
  isLater?: boolean;
  failure: string | null;
}

export interface Task {
  title: string;
  notes: string;
  status: "todo" | "in_progress" | "done";
}

/** The tasks that an answer tells of. */
export function tasksOf(observation: Observation | undefined): Task[] {
  const tasks = observation?.kind === "TaskTrackerObservation" ? observation["task_list"] : null;
  return Array.isArray(tasks) ? (tasks as Task[]) : [];
}

/** What the agent works towards, as often as it takes. */
export interface Goal {
  active: boolean;
  objective: string;
  iteration: number;
  max_iterations: number;
}

/** What the model is told before everything else. */
export interface Briefing {
  prompt: string;
  context: string;
  tools: ToolDefinition[];
}

export const briefingOf = (event: SystemPromptEvent): Briefing => ({
  prompt: event.system_prompt?.text ?? "",
  context: event.dynamic_context?.text ?? "",
  tools: event.tools ?? [],
});

export interface View {
  /** The position up to which the log is known; −1: nothing of it. */
  seq: number;
  /** Whether the history has been replayed. */
  isCurrent: boolean;
  status: Status;
  items: Item[];
  /** Whether there is more before the first item. */
  hasEarlier: boolean;
  draft: Draft | null;
  unsent: Unsent[];
  meter: Meter;
  model: string;
  folder: string;
  policy: string;
  /** The last one. */
  goal: Goal | null;
  tasks: Task[];
  changes: Change[];
  /** What open calls have written so far, by action. */
  output: LiveOutput;
  briefing: Briefing | null;
  /** Hosts that programs wait for. */
  hostQuestions: AskedHost[];
  /** How far the workspace is that is made ready. */
  preparing: string | null;
  /** What the browser showed last. */
  screenshot: { image: string; address: string } | null;
}

export const EMPTY: View = {
  seq: -1,
  isCurrent: false,
  status: "idle",
  items: [],
  hasEarlier: false,
  draft: null,
  unsent: [],
  meter: meterOf(undefined),
  model: "",
  folder: "",
  policy: "",
  goal: null,
  tasks: [],
  changes: [],
  output: {},
  briefing: null,
  hostQuestions: [],
  preparing: null,
  screenshot: null,
};

/** Calls that have no result yet. While the conversation waits for a word, these are what it is about. */
export function openCalls(view: View): Call[] {
  return view.items.filter((item): item is Call => item.type === "call" && item.result === null && !item.isExternal);
}

/** How many calls have a result: with each the files may be others. */
export const answeredCalls = (view: View): number => view.items.filter((item) => item.type === "call" && item.result).length;

/** Whether the model is awaited: it works, and nothing else tells what it does. */
export function isThinking({ isCurrent, status, preparing, items }: View): boolean {
  return isCurrent && status === "running" && !preparing && !items.some((item) => item.type === "call" && item.result === null);
}
