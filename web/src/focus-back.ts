import { useEffect, useRef, useState } from "react";

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

/** Where a change took off the screen what had the focus, somebody else takes it. */
export function useFocusLeft(change: string, take: () => void): void {
  const last = useRef<Element | null>(null);
  useEffect(() => {
    const note = () => (last.current = document.activeElement);
    addEventListener("focusin", note);
    return () => removeEventListener("focusin", note);
  }, []);
  useEffect(() => {
    if (document.activeElement === document.body && last.current?.isConnected === false) take();
  }, [change]);
}
