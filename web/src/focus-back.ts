import { useEffect, useState } from "react";

/** What is taken off the screen gives the focus back to what had it before; else who uses a keyboard begins at the top. */
export function useFocusBack(): void {
  // Asked when it is first drawn: a field in it may take the focus before any effect runs.
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      const isLost = document.activeElement === null || document.activeElement === document.body;
      if (isLost && before instanceof HTMLElement && before.isConnected) before.focus();
    },
    [before],
  );
}
