import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api";
import { dollars, meterOf } from "../meter";
import { go } from "../route";
import { useScreen } from "../screen";
import type { Conversation } from "../wire";
import { ConversationMenu } from "./ConversationMenu";
import { StatusMark } from "./StatusMark";

/** How often the list is asked for again. */
const REFRESH_MS = 5_000;

export const nameOf = (conversation: Conversation) =>
  conversation.title?.trim() || conversation.workspace.working_dir.split("/").at(-1) || "Conversation";

export function useConversations() {
  return useInfiniteQuery({
    queryKey: ["conversations"],
    queryFn: ({ pageParam }) => api.list(pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_id,
    refetchInterval: REFRESH_MS,
  });
}

export function Sidebar({ current }: { current: string | null }) {
  const [search, setSearch] = useState("");
  const list = useConversations();
  const all = list.data?.pages.flatMap((page) => page.items) ?? [];
  const words = search.toLowerCase().split(/\s+/);
  const found = all.filter((conversation) => {
    const text = `${nameOf(conversation)} ${conversation.workspace.working_dir} ${conversation.execution_status}`;
    return words.every((word) => text.toLowerCase().includes(word));
  });
  return (
    <nav className="sidebar" aria-label="Conversations">
      <div className="sidebar-head">
        <strong className="brand">Deft</strong>
        <button onClick={() => useScreen.setState({ dialog: "palette" })} title="Commands (Ctrl+K or ⌘K)">
          Commands
        </button>
        <button onClick={() => useScreen.setState({ dialog: "settings" })}>Settings</button>
      </div>
      <button className="primary" onClick={() => { go(null); useScreen.setState({ isSidebarOpen: false }); }}>
        New conversation
      </button>
      <input
        type="search"
        aria-label="Search conversations"
        placeholder="Search"
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      {list.isError && <p className="hint" role="alert">{list.error.message}</p>}
      {list.isSuccess && all.length === 0 && <p className="hint">No conversations yet.</p>}
      {all.length > 0 && found.length === 0 && <p className="hint">Nothing found among those loaded.</p>}
      <ul className="conversations">
        {found.map((conversation) => (
          <Entry key={conversation.id} conversation={conversation} isCurrent={conversation.id === current} />
        ))}
      </ul>
      {list.hasNextPage && (
        <button onClick={() => void list.fetchNextPage()} disabled={list.isFetchingNextPage}>
          Load older ones
        </button>
      )}
    </nav>
  );
}

function Entry({ conversation, isCurrent }: { conversation: Conversation; isCurrent: boolean }) {
  const cost = dollars(meterOf(conversation.stats));
  return (
    <li className={isCurrent ? "entry current" : "entry"}>
      <a
        href={`/c/${conversation.id}`}
        aria-current={isCurrent ? "page" : undefined}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return;
          event.preventDefault();
          go(conversation.id);
        }}
      >
        <span className="entry-title">{nameOf(conversation)}</span>
        <span className="entry-facts">
          <StatusMark status={conversation.execution_status} />
          <span>{cost}</span>
          <span className="entry-folder">{conversation.workspace.working_dir.split("/").at(-1)}</span>
        </span>
      </a>
      <ConversationMenu conversation={conversation} isCurrent={isCurrent} />
    </li>
  );
}
