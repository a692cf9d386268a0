// The list of conversations, kept fresh.

import { useInfiniteQuery } from "@tanstack/react-query";
import { api } from "./api";
import { usePreferences } from "./preferences";

/** How often the list is asked for again. */
const REFRESH_MS = 5_000;

export function useConversations() {
  // Who wants to be told looks elsewhere when there is something to tell.
  const isTold = usePreferences(({ notify, sound }) => notify || sound);
  return useInfiniteQuery({
    queryKey: ["conversations"],
    queryFn: ({ pageParam }) => api.list(pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_id,
    refetchInterval: REFRESH_MS,
    refetchIntervalInBackground: isTold,
  });
}
