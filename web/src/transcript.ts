// A conversation as a text to read.

import { answerOf, describe } from "./cards/describe";
import { plain, unturned } from "./plain";
import type { Item, Speaker } from "./view";
import { textOf } from "./wire";
import { t } from "./words";

/** One thing that happened, in parts that each format writes in its own way. */
interface Part {
  heading: string;
  text: string;
  code: string;
}

const speakers = (): Record<Speaker, string> => ({ user: t("User"), agent: t("Agent"), environment: "Deft" });

function partOf(item: Item): Part {
  switch (item.type) {
    case "message":
      return { heading: speakers()[item.from], text: item.text, code: "" };
    case "call": {
      const { label, title, outcome } = describe(item);
      if (item.event.action?.kind === "FinishAction") {
        const words = [textOf(item.event.thought), String(item.event.action["message"] ?? "")];
        return { heading: t("Agent"), text: words.filter(Boolean).join("\n\n"), code: "" };
      }
      const heading = `${label}: ${title}${outcome && ` (${outcome})`}`;
      return { heading, text: textOf(item.event.thought), code: plain(answerOf(item)) };
    }
    case "note":
      return { heading: item.text, text: "", code: "" };
    case "failure":
      return { heading: item.code || t("Error"), text: "", code: plain(item.text) };
  }
}

export function markdown(title: string, items: readonly Item[]): string {
  const one = (item: Item) => {
    const { heading, text, code } = partOf(item);
    const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map(([ticks]) => ticks.length));
    const fence = "`".repeat(longest + 1);
    return [`## ${heading}`, text, code && `${fence}\n${code}\n${fence}`].filter(Boolean).join("\n\n");
  };
  return `${[`# ${title}`, ...items.map(one)].join("\n\n")}\n`;
}

const escaped = (text: string) =>
  text.replace(/[&<>"']/g, (letter) => `&#${letter.codePointAt(0)};`);

export function html(title: string, items: readonly Item[]): string {
  const one = (item: Item) => {
    const { heading, text, code } = partOf(item);
    return `<h2>${escaped(unturned(heading))}</h2>${text && `<p>${escaped(unturned(text))}</p>`}${code && `<pre>${escaped(code)}</pre>`}`;
  };
  const style = "body{font:16px/1.5 sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}p{white-space:pre-wrap}h2{font-size:1rem}pre{overflow:auto;background:#8882;padding:.6rem}";
  return `<!doctype html><meta charset="utf-8"><title>${escaped(title)}</title><style>${style}</style><h1>${escaped(title)}</h1>\n${items.map(one).join("\n")}\n`;
}
