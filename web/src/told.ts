// What some tools have answered, wherever it stands in the log: a panel that tells what there is must not mean only what
// is loaded of it.

import { useQuery } from "@tanstack/react-query";
import { ask, on } from "./ask";
import type { Event } from "./wire";

export type Answered = Extract<Event, { kind: "ObservationEvent" }>;

/** Tools, and how many of their last answers are asked for. */
interface Wanted {
  tools: string;
  most: number;
}

export const TASKS: Wanted = { tools: "task_tracker", most: 1 };
export const TERMINAL: Wanted = { tools: "terminal", most: 50 };
/** Those that say what they have made of which file. */
export const EDITORS: Wanted = {
  tools: "file_editor,planning_file_editor,edit,write_file,apply_patch",
  most: 1_000,
};

/** Answers of a page. */
const PAGE = 100;

export interface Told {
  /** The oldest first. */
  events: Answered[];
  /** Whether there are older ones than were asked for. */
  isCut: boolean;
}

async function told(id: string, { tools, most }: Wanted): Promise<Told> {
  const events: Answered[] = [];
  for (let first: string | null = null; ; ) {
    const page: { items: Event[]; next_page_id: string | null } = await ask(
      "get",
      "/api/conversations/{conversation_id}/events/search",
      {
        ...on(id),
        query: {
          kind: "ObservationEvent",
          tool_name: tools,
          sort_order: "TIMESTAMP_DESC",
          limit: Math.min(PAGE, most - events.length),
          page_id: first,
        },
      },
    );
    events.push(...page.items.filter((event): event is Answered => event.kind === "ObservationEvent"));
    first = page.next_page_id;
    if (first === null || events.length >= most) return { events: events.toReversed(), isCut: first !== null };
  }
}

const NOTHING: Answered[] = [];

/** Asks the server where not everything is loaded. What happens later comes with the stream. */
export function useTold(id: string, wanted: Wanted, isNeeded: boolean) {
  const asked = useQuery({
    queryKey: ["told", id, wanted.tools],
    queryFn: () => told(id, wanted),
    enabled: isNeeded,
    staleTime: Infinity,
  });
  return {
    events: asked.data?.events ?? NOTHING,
    isCut: asked.data?.isCut ?? false,
    isLoading: isNeeded && asked.isPending,
    problem: asked.error?.message ?? null,
  };
}
