import { Dialog } from "../parts/Dialog";
import { visibleControls } from "../plain";
import { t } from "../words";

/** Asks whether files may be written over others: nothing brings those back. */
export function Replacing({ names, onClose, onReplace }: { names: string[]; onClose: () => void; onReplace: () => void }) {
  return (
    <Dialog title={t("Replace what is there?")} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onReplace();
        }}
      >
        <p>{t("The folder already has files of these names. What is in them will be gone.")}</p>
        <ul>
          {names.map((name) => (
            <li key={name}>
              <code>{visibleControls(name)}</code>
            </li>
          ))}
        </ul>
        <div className="row end">
          <button type="button" onClick={onClose}>
            {t("Cancel")}
          </button>
          <button className="danger">{t("Replace")}</button>
        </div>
      </form>
    </Dialog>
  );
}
