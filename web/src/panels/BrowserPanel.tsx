import { describe } from "../cards/describe";
import { useLivePicture } from "../live";
import { visibleControls } from "../plain";
import { openCalls, type View } from "../view";
import { t } from "../words";

/** What the agent's browser shows: as it is now while it runs, else what it showed last. And what it is doing. */
export default function BrowserPanel({ id, view }: { id: string; view: View }) {
  const live = useLivePicture(id);
  const { screenshot } = view;
  const picture = live ?? screenshot?.image;
  const open = openCalls(view).find((call) => call.event.tool_name.startsWith("browser_"));
  if (!picture && !open) return <p className="hint">{t("The agent has not looked at a page.")}</p>;
  return (
    <figure className="screenshot" aria-busy={open !== undefined}>
      {open && (
        <p role="status">
          {t("Under way:")} <code>{[open.event.tool_name, describe(open).title].join(" ")}</code>
        </p>
      )}
      <figcaption>
        {live && <strong className="live">{t("Live")}</strong>} {screenshot?.address && <code>{visibleControls(screenshot.address)}</code>}
      </figcaption>
      {picture && <img src={picture} alt={t("The page as the agent sees it")} />}
    </figure>
  );
}
