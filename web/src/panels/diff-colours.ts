// The colours of a file's lines before and after a change. The lines are shown at once and get their colours later.

import { type ReactNode, useEffect, useState } from "react";
import { endingOf } from "../ending";

/** Longer texts stay plain: a file is read whole for the few lines that are shown of it, and nothing may stand still. */
const MAX_LETTERS = 50_000;

interface Colours {
  /** The texts that these are the lines of: those of others must not be shown. */
  texts: Texts;
  lines: Record<keyof Texts, (line: number) => ReactNode>;
}

/** Both sides of a change, as they are shown. */
export interface Texts {
  old: string;
  new: string;
}

/** A line of a side in its colours; null or undefined while there are none. */
export function useDiffColours(path: string, texts: Texts): (side: keyof Texts, line: number) => ReactNode {
  const [colours, setColours] = useState<Colours | null>(null);
  useEffect(() => {
    if (Math.max(texts.old.length, texts.new.length) > MAX_LETTERS) return;
    let isWanted = true;
    const colour = async () => {
      const { colouredLines } = await import("../parts/colours");
      if (!isWanted) return;
      const [before, after] = [colouredLines(texts.old, endingOf(path)), colouredLines(texts.new, endingOf(path))];
      setColours({ texts, lines: { old: before, new: after } });
    };
    const soon = setTimeout(() => void colour().catch(() => {})); // after the lines; without a network they stay plain
    return () => {
      isWanted = false;
      clearTimeout(soon);
    };
  }, [path, texts]);
  return (side, line) => (colours?.texts === texts ? colours.lines[side](line) : null);
}
