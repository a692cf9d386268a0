// The list of conversations, kept fresh.

import { type QueryClient, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { api } from "./api";
import { usePreferences } from "./preferences";
import { useSettled } from "./settled";
import type { Conversation } from "./wire";

/** Pages of the list that are loaded for a search, or for the archive. */
export const MAX_PAGES = 10;

/** How often the list is asked for again. */
const REFRESH_MS = 5_000;

const NEWEST = ["conversations"];
const OLDER = ["older conversations"];
/** How long older ones are taken as they were: whatever happens to one makes it one of the newest. */
const OLDER_FRESH_MS = 60_000;

/** The newest ones. */
export function useConversations() {
  // Who wants to be told looks elsewhere when there is something to tell.
  const isTold = usePreferences(({ notify, sound }) => notify || sound);
  return useQuery({
    queryKey: NEWEST,
    queryFn: () => api.list(null),
    refetchInterval: REFRESH_MS,
    refetchIntervalInBackground: isTold,
  });
}

/** So many pages of the list, of which only the first is asked for again and again. */
export function usePages(wanted: number) {
  const newest = useConversations();
  const hasOlder = newest.data?.next_page_id != null;
  const older = useInfiniteQuery({
    queryKey: OLDER,
    queryFn: ({ pageParam }) => api.list(pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_id,
    enabled: wanted > 1 && hasOlder,
    staleTime: OLDER_FRESH_MS,
    refetchOnWindowFocus: false,
  });
  const { fetchNextPage } = older;
  const loaded = older.data?.pages.length ?? 0;
  const isMissing = older.hasNextPage && !older.isFetching && !older.isError && loaded < wanted;
  useEffect(() => {
    if (isMissing && wanted > 1) void fetchNextPage();
  }, [isMissing, loaded, wanted, fetchNextPage]);
  const pages = wanted > 1 ? (older.data?.pages.slice(0, wanted) ?? []) : [];
  return {
    items: together(newest.data?.items ?? [], pages.flatMap((page) => page.items)),
    isSuccess: newest.isSuccess,
    error: newest.error ?? older.error,
    hasMore: wanted > 1 ? (pages.at(-1)?.next_page_id ?? null) !== null : hasOlder,
    isLoading: wanted > 1 && older.isFetching,
  };
}

/** The newest ones, and behind them those of the older ones that are not among them. */
export function together(newest: readonly Conversation[], older: readonly Conversation[]): Conversation[] {
  const known = new Set(newest.map(({ id }) => id));
  return [...newest, ...older.filter(({ id }) => !known.has(id))];
}

/** Asks for the list again: one of them has begun, or is not what it was. */
export function refreshConversations(queries: QueryClient, which: "newest" | "all"): void {
  void queries.invalidateQueries({ queryKey: NEWEST });
  if (which === "all") void queries.invalidateQueries({ queryKey: OLDER });
}

/** Conversations in whose messages all these words stand. */
export function useSaid(search: string) {
  const words = useSettled(search.trim());
  const said = useQuery({ queryKey: ["said", words], queryFn: () => api.said(words), enabled: words !== "" });
  return (search && said.data?.items) || [];
}
