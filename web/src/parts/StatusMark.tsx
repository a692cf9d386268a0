import type { Status } from "../wire";
import { t } from "../words";

export const statusWords = (): Record<Status, string> => ({
  idle: t("Idle"),
  running: t("Working"),
  paused: t("Paused"),
  waiting_for_confirmation: t("Needs you"),
  finished: t("Finished"),
  error: t("Failed"),
  stuck: t("Going in circles"),
  deleting: t("Being deleted"),
});

export function StatusMark({ status }: { status: Status }) {
  return <span className={`status status-${status}`}>{statusWords()[status] ?? status}</span>;
}
