import { useState } from "react";

/** Drafts of messages survive a change of the conversation. */
const drafts = new Map<string, string>();

export function Composer(props: { id: string; isBusy: boolean; onSend: (text: string) => Promise<void> }) {
  const [text, setText] = useState(drafts.get(props.id) ?? "");
  const change = (next: string) => {
    drafts.set(props.id, next);
    setText(next);
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        const said = text.trim();
        if (!said) return;
        change("");
        void props.onSend(said);
      }}
    >
      <textarea
        aria-label="Message"
        rows={Math.min(10, Math.max(2, text.split("\n").length))}
        value={text}
        placeholder={props.isBusy ? "Steer it: read at the next step" : "Say what comes next"}
        onChange={(event) => change(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }
        }}
      />
      <button className="primary" disabled={!text.trim()}>
        Send
      </button>
    </form>
  );
}
