import { useEffect, useState } from "react";

/** How long nothing is written before somebody is asked about it. */
const PAUSE_MS = 250;

/** What is written, once it does not change any more; empty before. */
export function useSettled(written: string): string {
  const [settled, setSettled] = useState("");
  useEffect(() => {
    const later = setTimeout(() => setSettled(written), PAUSE_MS);
    return () => clearTimeout(later);
  }, [written]);
  return settled;
}
