// Messages that wait for the end of the turn. The server keeps them; the stream does not tell of them.

import { useQuery } from "@tanstack/react-query";
import { content } from "./api";
import { type Answer, ask, on } from "./ask";
import { imagesOf, type Status, textOf } from "./wire";

/** How often the queue is looked at while it may change. */
const LOOK_EVERY_MS = 3_000;

/** The id is the one that its event will have. */
export interface Queued {
  id: string;
  text: string;
  images: string[];
}

type Waiting = Answer<"get", "/api/conversations/{conversation_id}/queue">;

const read = ({ queue }: Waiting): Queued[] =>
  queue.map(({ id, message }) => ({ id, text: textOf(message.content), images: imagesOf(message.content) }));

/** What names a message that waits. */
const one = (id: string, message: string) => ({ path: { conversation_id: id, event_id: message } });

export const queue = {
  list: async (id: string) => read(await ask("get", "/api/conversations/{conversation_id}/queue", on(id))),
  async add(id: string, own: string, text: string, images: string[]): Promise<Queued[]> {
    const body = { id: own, ...content(text, images) };
    const waiting = read(await ask("post", "/api/conversations/{conversation_id}/queue", { ...on(id), body }));
    // The turn may just have ended: then it was said at once, and somebody has to hear it.
    if (!waiting.some((message) => message.id === own)) await ask("post", "/api/conversations/{conversation_id}/run", on(id)).catch(() => {});
    return waiting;
  },
  edit: async (id: string, { id: message, images }: Queued, text: string) =>
    read(await ask("patch", "/api/conversations/{conversation_id}/queue/{event_id}", { ...one(id, message), body: content(text, images) })),
  remove: async (id: string, message: string) => 
    read(await ask("delete", "/api/conversations/{conversation_id}/queue/{event_id}", one(id, message))),
  order: async (id: string, order: string[]) => 
    read(await ask("put", "/api/conversations/{conversation_id}/queue", { ...on(id), body: { order } })),
};

/** Whether something can wait at all: only while a turn is under way. */
export const canWait = (status: Status) =>
  status === "running" || status === "paused" || status === "waiting_for_confirmation";

/** The ids with one of them a place earlier or later. */
export function moved(ids: string[], id: string, by: -1 | 1): string[] {
  const from = ids.indexOf(id);
  const to = from + by;
  if (from < 0 || to < 0 || to >= ids.length) return ids;
  return ids.toSpliced(from, 1).toSpliced(to, 0, id);
}

export const queueKey = (id: string) => ["queue", id];

/** What waits, without what the log has by now. */
export function useQueue(id: string, status: Status, isSaid: (message: string) => boolean): Queued[] {
  const found = useQuery({
    queryKey: queueKey(id),
    queryFn: () => queue.list(id),
    enabled: status !== "idle" && status !== "finished",
    refetchInterval: status === "running" ? LOOK_EVERY_MS : false,
    retry: false,
  });
  return (found.data ?? []).filter((message) => !isSaid(message.id));
}
