import type { Unsent } from "../fold";
import { Markdown } from "../parts/Markdown";

/** A message that is on its way, or did not get there. */
export function UnsentCard(props: { message: Unsent; onResend: (key: number, text: string | null) => void }) {
  const { key, text, failure } = props.message;
  return (
    <article className="message from-user unsent" aria-label="Your message, not sent yet">
      <Markdown text={text} />
      {failure === null ? (
        <span className="hint">Sending…</span>
      ) : (
        <div className="row">
          <span role="alert" className="problem">
            Not sent. {failure}
          </span>
          <button onClick={() => props.onResend(key, text)}>Send again</button>
          <button onClick={() => props.onResend(key, null)}>Discard</button>
        </div>
      )}
    </article>
  );
}
