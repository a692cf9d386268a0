import { useState } from "react";
import { Dialog } from "../parts/Dialog";
import { visibleControls } from "../plain";
import { t } from "../words";

interface Props {
  path: string;
  isNew: boolean;
  isDisabled: boolean;
  onRevert: () => void;
}

/** Takes everything back that became of a file, after a question: nothing brings it back. */
export function RevertFile({ path, isNew, isDisabled, onRevert }: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button className="quiet" disabled={isDisabled} onClick={() => setOpen(true)}>
        {t("Revert")}
      </button>
      {isOpen && (
        <Dialog title={t("Revert the whole file?")} onClose={() => setOpen(false)}>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              setOpen(false);
              onRevert();
            }}
          >
            <p>
              {isNew
                ? t("{path} is new and will be removed.", { path: visibleControls(path) })
                : t("All changes of {path} will be gone.", { path: visibleControls(path) })}
            </p>
            <div className="row end">
              <button type="button" onClick={() => setOpen(false)}>
                {t("Cancel")}
              </button>
              <button className="danger">{t("Revert")}</button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  );
}
