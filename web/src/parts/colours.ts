// Texts in the colours of their language, which is named as people name it or as files end. All of this is large, so it
// is loaded when it is needed.

import type { RootContent } from "hast";
import { toJsxRuntime } from "hast-util-to-jsx-runtime";
import { common, createLowlight } from "lowlight";
import type { ReactNode } from "react";
import { Fragment, jsx, jsxs } from "react/jsx-runtime";

const lowlight = createLowlight(common);
/** Longer texts are shown plain. */
const MAX_LETTERS = 300_000;
const LANGUAGES: Record<string, string> = { tsx: "typescript", jsx: "javascript", mjs: "javascript", htm: "xml", html: "xml", svg: "xml", toml: "ini" };

/** What a text is made of, or null where it stays plain. */
function read(text: string, name: string): RootContent[] | null {
  const language = LANGUAGES[name] ?? name;
  if (!lowlight.registered(language) || text.length > MAX_LETTERS) return null;
  return lowlight.highlight(language, text).children;
}

const shown = (children: RootContent[]): ReactNode => toJsxRuntime({ type: "root", children }, { Fragment, jsx, jsxs });

/** A whole text. */
export function coloured(text: string, name: string): ReactNode {
  const parts = read(text, name);
  return parts ? shown(parts) : text;
}

/** The lines of a text by their numbers, from 1 on; undefined where there is none, or where it stays plain. */
export function colouredLines(text: string, name: string): (line: number) => ReactNode {
  const lines = linesOf(read(text, name) ?? []);
  return (line) => {
    const parts = lines[line - 1];
    return parts && shown(parts);
  };
}

/** What goes over several lines, such as a comment, is in each of them. */
function linesOf(parts: RootContent[]): RootContent[][] {
  const lines: RootContent[][] = [];
  for (const part of parts) {
    for (const [index, line] of brokenUp(part).entries()) {
      if (index === 0 && lines.length > 0) lines.at(-1)?.push(line);
      else lines.push([line]);
    }
  }
  return lines;
}

function brokenUp(part: RootContent): RootContent[] {
  if (part.type === "text") return part.value.split("\n").map((value) => ({ ...part, value }));
  if (part.type !== "element") return [part];
  return linesOf(part.children).map((children) => ({ ...part, children: children as typeof part.children }));
}
