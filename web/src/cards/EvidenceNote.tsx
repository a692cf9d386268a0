import { CircleAlert, CircleCheck, CircleX } from "lucide-react";
import type { Evidence } from "../evidence";
import { visibleControls } from "../plain";
import { t } from "../words";

/** Says by which command the work was tried, or that it was not. */
export function EvidenceNote({ evidence }: { evidence: Evidence }) {
  if (evidence.type === "none") {
    return (
      <p className="evidence busy">
        <CircleAlert /> {t("Unverified: nothing was run after the last change.")}
      </p>
    );
  }
  const { command, code, isPart } = evidence;
  const exit = isPart ? t("exit {code} of its last part", { code }) : t("exit {code}", { code });
  return (
    <p className={`evidence ${code === 0 ? "good" : "bad"}`}>
      {code === 0 ? <CircleCheck /> : <CircleX />} {t("Run after the last change:")} <code>{visibleControls(command)}</code> <span>{exit}</span>
    </p>
  );
}
