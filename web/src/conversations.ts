// The list of conversations, kept fresh.

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
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

/** How long nothing is written before messages are searched. */
const PAUSE_MS = 250;

/** Conversations in whose messages all these words stand. */
export function useSaid(search: string) {
  const [words, setWords] = useState("");
  useEffect(() => {
    const later = setTimeout(() => setWords(search.trim()), PAUSE_MS);
    return () => clearTimeout(later);
  }, [search]);
  const said = useQuery({ queryKey: ["said", words], queryFn: () => api.said(words), enabled: words !== "" });
  return (search && said.data?.items) || [];
}
