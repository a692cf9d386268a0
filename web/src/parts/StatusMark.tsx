import type { Status } from "../wire";

export const STATUS_WORDS: Record<Status, string> = {
  idle: "Idle",
  running: "Working",
  paused: "Paused",
  waiting_for_confirmation: "Needs your word",
  finished: "Finished",
  error: "Failed",
  stuck: "Going in circles",
  deleting: "Being deleted",
};

export function StatusMark({ status }: { status: Status }) {
  return <span className={`status status-${status}`}>{STATUS_WORDS[status] ?? status}</span>;
}
