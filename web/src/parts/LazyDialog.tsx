import { type ReactNode, Suspense } from "react";
import { useFocusBack } from "../focus-back";
import { t } from "../words";
import { Dialog } from "./Dialog";
import { Failed, Guard } from "./Guard";

/** Around a dialog that is loaded when it is opened: if it cannot be, another one says so. */
export function LazyDialog({ onClose, children }: { onClose: () => void; children: ReactNode }) {
  useFocusBack(); // to what had it before anything was loaded
  const instead = (words: string) => (
    <Dialog title={t("That did not work")} onClose={onClose}>
      <Failed words={words} />
    </Dialog>
  );
  // Until it is there nothing is typed into what is behind it.
  const loading = (
    <Dialog title={t("Loading…")} isBare onClose={onClose}>
      <p className="late" role="status">
        {t("Loading…")}
      </p>
    </Dialog>
  );
  return (
    <Guard instead={instead}>
      <Suspense fallback={loading}>{children}</Suspense>
    </Guard>
  );
}
