import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { allow, ruleFor, type Scope } from "../allow";
import { api, type Decision } from "../api";
import { CallDetails } from "../cards/CallDetails";
import { CallIcon } from "../cards/CallIcon";
import { describe } from "../cards/describe";
import { editable, edited } from "../edits";
import { isKey, withChord } from "../keys";
import { setSafety } from "../safety";
import { visibleControls } from "../plain";
import type { Call } from "../view";
import { t } from "../words";
import { AllowRule } from "./AllowRule";
import { RiskMark } from "./RiskMark";

type Word = "allow" | "always" | "reject" | { rule: string; scope: Scope };

/** Whether a key is for something else than the answer: who writes, be it why not, must not allow it by a slip. Only the
 * text of a changed action is sent with the answer; and where messages are written nothing is begun while it is empty. */
function isMeantForOther(target: EventTarget | null, region: HTMLElement | null): boolean {
  if (document.querySelector("dialog[open]")) return true;
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLTextAreaElement) {
    return !region?.contains(target) && (target.value !== "" || target.closest(".composer") === null);
  }
  if (target instanceof HTMLInputElement) return target.type !== "checkbox";
  return target instanceof HTMLSelectElement || target.isContentEditable;
}

interface Props {
  id: string;
  calls: Call[];
  /** Where the agent works. */
  folder: string;
}

/** Actions that wait for a word. */
export function Confirm({ id, calls, folder }: Props) {
  const [reason, setReason] = useState("");
  /** Other words for calls, by id. */
  const [edits, setEdits] = useState<Record<string, string>>({});
  /** Which of several are not to run, by id. */
  const [left, setLeft] = useState<readonly string[]>([]);
  const isLeft = ({ id }: Call) => left.includes(id);
  const answer = useMutation({
    mutationFn: async (word: Word) => {
      const answers = calls.map((call): Decision => {
        const action_id = call.id;
        if (word === "reject" || isLeft(call)) {
          return { action_id, answer: "reject", reason: reason.trim() || "The user rejected this action." };
        }
        const text = edits[call.id];
        if (text === undefined || text === editable(call)) return { action_id, answer: "approve" };
        return { action_id, answer: "edit", arguments: edited(call, text) };
      });
      if (word === "always") await setSafety(id, "never", "rules");
      if (typeof word === "object") await allow.addRule(id, word.rule, word.scope);
      await api.answer(id, answers);
    },
  });
  const { mutate } = answer;
  const region = useRef<HTMLElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isMeantForOther(event.target, region.current)) return;
      if (event.repeat) return; // a key that is held would answer for the next action too
      if (isKey(event, "allow")) mutate("allow");
      else if (isKey(event, "reject")) mutate("reject");
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [mutate]);
  const only = calls.length === 1 ? calls[0] : undefined;
  const rule = only ? ruleFor(only) : null;
  const isEdited = Object.keys(edits).length > 0;
  return (
    <section ref={region} className="confirm" role="region" aria-label={t("Waiting for you")}>
      <h2>{t("May it do this?")}</h2>
      <ul tabIndex={0} aria-label={t("Actions")}>
        {calls.map((call) => (
          <li key={call.id}>
            <p className="row action">
              {!only && (
                <input
                  type="checkbox"
                  aria-label={t("Allow this: {action}", { action: describe(call, folder).title })}
                  checked={!isLeft(call)}
                  onChange={({ target }) => setLeft(target.checked ? left.filter((id) => id !== call.id) : [...left, call.id])}
                />
              )}
              <CallIcon call={call} />
              <span className="card-label">{describe(call).label}</span>
              {/* A command stands below, whole. */}
              <code className="card-title">{call.event.action?.kind !== "TerminalAction" && describe(call, folder).title}</code>
              <RiskMark risk={call.risk} />
              {edits[call.id] === undefined && (
                <button
                  className="quiet"
                  aria-label={only ? undefined : t("Edit this: {action}", { action: describe(call, folder).title })}
                  onClick={() => setEdits({ ...edits, [call.id]: editable(call) })}
                >
                  {t("Edit")}
                </button>
              )}
            </p>
            {call.why && <p className="why">{visibleControls(call.why)}</p>}
            {edits[call.id] === undefined ? (
              <CallDetails call={call} />
            ) : (
              <textarea
                autoFocus
                aria-label={t("The action, changed")}
                className="mono"
                rows={Math.min(12, Math.max(2, (edits[call.id] ?? "").split("\n").length))}
                value={edits[call.id]}
                onChange={(event) => setEdits({ ...edits, [call.id]: event.target.value })}
              />
            )}
          </li>
        ))}
      </ul>
      {rule && !isEdited && (
        <AllowRule
          key={only?.id}
          offered={rule}
          isPending={answer.isPending}
          onAllow={(rule, scope) => mutate({ rule, scope })}
        />
      )}
      {answer.isError && (
        <p role="alert" className="problem">
          {answer.error.message}
        </p>
      )}
      <div className="row">
        <button
          className={calls.some(({ risk }) => risk === "HIGH") ? "" : "primary"}
          disabled={answer.isPending || calls.every(isLeft)}
          title={withChord(t("Allow what waits"), "allow")}
          onClick={() => mutate("allow")}
        >
          {isEdited ? t("Run as changed") : calls.some(isLeft) ? t("Allow the chosen ones") : t("Allow")}
        </button>
        <button disabled={answer.isPending} onClick={() => mutate("always")}>
          {t("Allow, and ask no more")}
        </button>
        <input
          aria-label={t("Why not, for the agent")}
          placeholder={t("Why not (the agent reads it)")}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.nativeEvent.isComposing && !answer.isPending) mutate("reject");
          }}
        />
        <button
          disabled={answer.isPending}
          title={withChord(t("Reject what waits"), "reject")}
          onClick={() => mutate("reject")}
        >
          {t("Reject")}
        </button>
      </div>
    </section>
  );
}
