import type { Item } from "../fold";
import { plain } from "../plain";
import { useScreen } from "../screen";

const ADVICE: Record<string, string> = {
  auth: "The provider did not accept the key. Enter another one, or set it where the server runs.",
  quota: "Nothing is left to spend with the provider. Add credit, or choose another model.",
  rate_limit: "The provider is asked too often. Wait a little and try again.",
  config: "A setting of the model is wrong. Mend it and begin again.",
  transient: "The network or the provider failed for the moment. Try again.",
  internal: "This is a fault of the server or its machine. Its log says more.",
};

/** What went wrong, and what to do about it. */
export function FailureCard({ failure, isLast }: { failure: Item & { type: "failure" }; isLast: boolean }) {
  const { code, text, classification } = failure;
  return (
    <article className="failure" aria-label="Error">
      <p>
        <strong>{code || "Error"}</strong>
      </p>
      <pre className="output" tabIndex={0}>{plain(text)}</pre>
      {classification && <p>{ADVICE[classification.kind]}</p>}
      {isLast && (
        <div className="row">
          {classification?.user_action === "settings" && (
            <button onClick={() => useScreen.setState({ dialog: "settings" })}>Settings</button>
          )}
          <button onClick={() => void navigator.clipboard?.writeText(`${code}\n${text}`)}>Copy</button>
        </div>
      )}
    </article>
  );
}
