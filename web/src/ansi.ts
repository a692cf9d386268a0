// Colours of terminals. Everything else that would steer a terminal is taken out.

import Anser from "anser";
import { plain } from "./plain";

export interface Run {
  text: string;
  className: string;
}

const COLOURS = /\u001b\[[0-9;]*m/;

/** Output in runs of one look each. */
export function runsOf(output: string): Run[] {
  if (!COLOURS.test(output)) return [{ text: plain(output), className: "" }];
  const parts = Anser.ansiToJson(output, { use_classes: true, remove_empty: true });
  return parts.map((part) => {
    const classes = [part.fg, part.bg && `${part.bg}-bg`, ...(part.decorations ?? [])].filter(Boolean);
    return { text: plain(part.content), className: classes.map((name) => (String(name).startsWith("ansi-") ? name : `ansi-${name}`)).join(" ") };
  });
}
