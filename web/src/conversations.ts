// The list of conversations, kept fresh.

import { useInfiniteQuery } from "@tanstack/react-query";
import { api } from "./api";

/** How often the list is asked for again. */
const REFRESH_MS = 5_000;

export function useConversations() {
  return useInfiniteQuery({
    queryKey: ["conversations"],
    queryFn: ({ pageParam }) => api.list(pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_id,
    refetchInterval: REFRESH_MS,
  });
}
