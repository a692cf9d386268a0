import { plain } from "../plain";
import type { View } from "../view";
import { t } from "../words";

/** What the agent's browser showed last. */
export default function BrowserPanel({ screenshot }: Pick<View, "screenshot">) {
  if (!screenshot) return <p className="hint">{t("The agent has not looked at a page.")}</p>;
  return (
    <figure className="screenshot">
      {screenshot.address && (
        <figcaption>
          <code>{plain(screenshot.address)}</code>
        </figcaption>
      )}
      <img src={screenshot.image} alt={t("The page as the agent sees it")} />
    </figure>
  );
}
