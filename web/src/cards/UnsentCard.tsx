import type { Unsent } from "../fold";
import { Markdown } from "../parts/Markdown";
import { Images } from "./Images";

export type Settle = (message: Unsent, what: "again" | "discard") => void;

/** A message that is on its way, or did not get there. */
export function UnsentCard({ message, onSettle }: { message: Unsent; onSettle: Settle }) {
  const { text, images, failure } = message;
  return (
    <article className="message from-user unsent" aria-label="Your message, not sent yet">
      <Markdown text={text} />
      <Images urls={images} />
      {failure === null ? (
        <span className="hint">Sending…</span>
      ) : (
        <div className="row">
          <span role="alert" className="problem">
            Not sent. {failure}
          </span>
          <button onClick={() => onSettle(message, "again")}>Send again</button>
          <button onClick={() => onSettle(message, "discard")}>Discard</button>
        </div>
      )}
    </article>
  );
}
