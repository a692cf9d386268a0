import { type ReactNode, Suspense } from "react";
import { t } from "../words";
import { Dialog } from "./Dialog";
import { Failed, Guard } from "./Guard";

/** Around a dialog that is loaded when it is opened: if it cannot be, another one says so. */
export function LazyDialog({ onClose, children }: { onClose: () => void; children: ReactNode }) {
  const instead = (words: string) => (
    <Dialog title={t("That did not work")} onClose={onClose}>
      <Failed words={words} />
    </Dialog>
  );
  return (
    <Guard instead={instead}>
      <Suspense>{children}</Suspense>
    </Guard>
  );
}
