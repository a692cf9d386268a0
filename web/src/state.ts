// What the state of a conversation says, put into what is shown.

import { meterOf } from "./meter";
import type { Goal, View } from "./view";
import type { Stats, Status } from "./wire";

/** Takes a part of the state in; where the conversation stands in its log is the tree's business, and is passed on. */
export function takeState(view: View, key: string, value: unknown, move: (head: string | null) => void): void {
  switch (key) {
    case "full_state":
      for (const [part, of] of Object.entries((value ?? {}) as object)) takeState(view, part, of, move);
      break;
    case "leaf_event_id":
      if (typeof value === "string") move(value);
      break;
    case "head_is_empty":
      if (value === true) move(null);
      break;
    case "confirmation_policy":
      view.policy = (value as { kind?: string })?.kind ?? view.policy;
      break;
    case "execution_status":
      view.status = value as Status;
      break;
    case "stats":
      view.meter = meterOf(value as Stats);
      break;
    case "agent":
      view.model = (value as { llm?: { model?: string } })?.llm?.model ?? view.model;
      break;
    case "goal":
      view.goal = value as Goal | null;
      break;
    case "workspace":
      view.folder = (value as { working_dir?: string })?.working_dir ?? view.folder;
      break;
  }
}
