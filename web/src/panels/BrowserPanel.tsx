import { describe } from "../cards/describe";
import { plain } from "../plain";
import { openCalls, type View } from "../view";
import { t } from "../words";

/** What the agent's browser showed last, and what it is doing now. */
export default function BrowserPanel({ view }: { view: View }) {
  const { screenshot } = view;
  const open = openCalls(view).find((call) => call.event.tool_name.startsWith("browser_"));
  if (!screenshot && !open) return <p className="hint">{t("The agent has not looked at a page.")}</p>;
  return (
    <figure className="screenshot" aria-busy={open !== undefined}>
      {open && (
        <p role="status">
          {t("Under way:")} <code>{[open.event.tool_name, describe(open).title].join(" ")}</code>
        </p>
      )}
      {screenshot?.address && (
        <figcaption>
          <code>{plain(screenshot.address)}</code>
        </figcaption>
      )}
      {screenshot && <img src={screenshot.image} alt={t("The page as the agent sees it")} />}
    </figure>
  );
}
