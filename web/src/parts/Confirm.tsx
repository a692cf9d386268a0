import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api } from "../api";
import { CallDetails } from "../cards/CallDetails";
import { describe } from "../cards/describe";
import type { Call } from "../fold";
import { RiskMark } from "./RiskMark";

/** Actions that wait for a word. */
export function Confirm({ id, calls }: { id: string; calls: Call[] }) {
  const [reason, setReason] = useState("");
  const answer = useMutation({
    mutationFn: async (isAllowed: boolean) => {
      if (isAllowed) await api.run(id);
      else await api.reject(id, reason.trim() || "The user rejected this action.");
    },
  });
  const { mutate } = answer;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      // Who writes why not must not allow it by a slip.
      if (!(event.metaKey || event.ctrlKey) || event.target instanceof HTMLInputElement) return;
      if (event.key === "Enter") mutate(true);
      else if (event.key === "Backspace" && event.shiftKey) mutate(false);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [mutate]);
  return (
    <section className="confirm" role="region" aria-label="Waiting for your word">
      <h2>May it do this?</h2>
      <ul tabIndex={0} aria-label="Actions">
        {calls.map((call) => (
          <li key={call.id}>
            <p>
              <RiskMark risk={call.risk} /> <code>{describe(call).title}</code>
            </p>
            <CallDetails call={call} />
          </li>
        ))}
      </ul>
      {answer.isError && (
        <p role="alert" className="problem">
          {answer.error.message}
        </p>
      )}
      <div className="row">
        <button className="primary" disabled={answer.isPending} title="Ctrl+Enter or ⌘↩" onClick={() => mutate(true)}>
          Allow
        </button>
        <input
          aria-label="Why not, for the agent"
          placeholder="Why not (the agent reads it)"
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        <button disabled={answer.isPending} title="Ctrl+Shift+Backspace or ⇧⌘⌫" onClick={() => mutate(false)}>
          Reject
        </button>
      </div>
    </section>
  );
}
