// A whole conversation as a file to keep or to show.

import { api } from "./api";
import { download } from "./download";
import { Fold } from "./fold";
import { nameOf } from "./name";
import { html, markdown } from "./transcript";
import type { Event } from "./wire";

export type Format = "Markdown" | "HTML" | "JSON";

/** All events, the first one first. */
async function load(id: string): Promise<Event[]> {
  const events: Event[] = [];
  for (let page = await api.events(id, null); ; page = await api.events(id, page.next_page_id)) {
    events.push(...page.items);
    if (page.next_page_id === null) return events.reverse();
  }
}

export async function exportConversation(id: string, format: Format): Promise<void> {
  const [info, events] = await Promise.all([api.get(id), load(id)]);
  const title = nameOf(info);
  const fold = new Fold();
  fold.isAtEnd = false; // nothing may be forgotten
  fold.apply(events.map((event, seq) => ({ type: "durable", seq, event })));
  const { items } = fold.view;
  const made = {
    Markdown: () => ["md", "text/markdown", markdown(title, items)],
    HTML: () => ["html", "text/html", html(title, items)],
    JSON: () => ["json", "application/json", JSON.stringify({ id, title, events }, null, 2)],
  }[format]();
  const [ending, kind, text] = made as [string, string, string];
  download(`${title.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 60)}.${ending}`, new Blob([text], { type: kind }));
}
