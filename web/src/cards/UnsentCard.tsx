import type { Unsent } from "../view";
import { Markdown } from "../parts/Markdown";
import { t } from "../words";
import { Images } from "./Images";

export type Settle = (message: Unsent, what: "again" | "discard") => void;

/** A message that is on its way, or did not get there. */
export function UnsentCard({ message, onSettle }: { message: Unsent; onSettle: Settle }) {
  const { text, images, failure } = message;
  return (
    <article className="message from-user unsent" aria-label={t("Your message, not sent yet")}>
      <Markdown text={text} lines="kept" />
      <Images urls={images} />
      {failure === null ? (
        <span className="hint">{t("Sending…")}</span>
      ) : (
        <div className="row">
          <span role="alert" className="problem">
            {t("Not sent.")} {failure}
          </span>
          <button onClick={() => onSettle(message, "again")}>{t("Send again")}</button>
          <button onClick={() => onSettle(message, "discard")}>{t("Discard")}</button>
        </div>
      )}
    </article>
  );
}
