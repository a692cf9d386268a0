import { plain } from "../plain";
import { useCard } from "../screen";
import { t } from "../words";

/** Lines that are shown at first, from the end: that is where commands say how it came out. */
const LINES = 40;

export function Output({ id, text }: { id: string; text: string }) {
  const [isWhole, toggle] = useCard(`${id}/output`, false);
  const lines = plain(text).trimEnd().split("\n");
  const hidden = lines.length - LINES;
  if (lines.length === 1 && lines[0] === "") return null;
  return (
    <>
      {hidden > 0 && (
        <button className="quiet" onClick={toggle}>
          {isWhole ? t("Show the end only") : t("Show {n} lines before", { n: hidden })}
        </button>
      )}
      <pre className="output" tabIndex={0}>
        {(isWhole ? lines : lines.slice(-LINES)).join("\n")}
      </pre>
    </>
  );
}
