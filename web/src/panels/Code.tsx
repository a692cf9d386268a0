import Coloured from "../parts/Coloured";
import { t } from "../words";

/** A text in the colours of its language, with line numbers. */
export default function Code({ text, ending }: { text: string; ending: string }) {
  // A last line that is ended is followed by none.
  const lines = text.replace(/\n$/, "").split("\n").length;
  return (
    <div className="code" tabIndex={0} role="group" aria-label={t("Content")}>
      <pre aria-hidden="true" className="numbers">
        {Array.from({ length: lines }, (_, index) => index + 1).join("\n")}
      </pre>
      <pre>
        <code>
          <Coloured text={text} name={ending} />
        </code>
      </pre>
    </div>
  );
}
