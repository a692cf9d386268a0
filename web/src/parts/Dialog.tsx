import { X } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { useFocusBack } from "../focus-back";
import { t } from "../words";

/** Puts on a field that a dialog begins with it, where something before it could have the focus: the browser looks for the
 * attribute when it shows the dialog, and `autoFocus` does not write it. */
export const beginsHere = (field: HTMLElement | null): void => field?.setAttribute("autofocus", "");

/** The browser's own dialog: it holds the focus, and Escape closes it. */
export function Dialog(props: { title: string; onClose: () => void; children: ReactNode; isBare?: boolean; isWide?: boolean }) {
  useFocusBack();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current;
    if (shown && !shown.open) shown.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={props.isWide ? "wide" : ""}
      aria-label={props.title}
      onClose={props.onClose}
      onClick={(event) => {
        if (event.target === dialog.current) props.onClose();
      }}
    >
      <div className="dialog-body">
        {!props.isBare && <h2>{props.title}</h2>}
        {props.children}
        {/* The last one: the first thing that can be used gets the focus. */}
        {!props.isBare && (
          <button type="button" className="quiet icon-only dialog-close" aria-label={t("Close")} onClick={props.onClose}>
            <X />
          </button>
        )}
      </div>
    </dialog>
  );
}
