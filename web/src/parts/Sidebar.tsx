import { Search, Settings, SquarePen } from "lucide-react";
import { useEffect, useState } from "react";
import { ago } from "../ago";
import { useConversations } from "../conversations";
import { dollars, meterOf } from "../meter";
import { isArchived, nameOf, tagsOf } from "../name";
import { go } from "../route";
import { useScreen } from "../screen";
import type { Conversation } from "../wire";
import { t } from "../words";
import { ConversationMenu } from "./ConversationMenu";
import { StatusMark, statusWords } from "./StatusMark";

/** Pages of the list that are loaded for a search. */
const MAX_PAGES = 10;

export function Sidebar({ current }: { current: string | null }) {
  const [search, setSearch] = useState("");
  const [archived, setArchived] = useState(false);
  const list = useConversations();
  // Who searches searches all, as far as that is reasonable.
  const { fetchNextPage } = list;
  const isMore = search !== "" && list.hasNextPage && !list.isFetchingNextPage && (list.data?.pages.length ?? 0) < MAX_PAGES;
  useEffect(() => {
    if (isMore) void fetchNextPage();
  }, [isMore, fetchNextPage]);
  const all = list.data?.pages.flatMap((page) => page.items) ?? [];
  const words = search.toLowerCase().split(/\s+/);
  const found = all.filter((conversation) => {
    const status = statusWords()[conversation.execution_status];
    const facts = [nameOf(conversation), conversation.workspace.working_dir, status, ...tagsOf(conversation)];
    const text = facts.join(" ");
    if (isArchived(conversation) !== archived && conversation.id !== current) return false;
    return words.every((word) => text.toLowerCase().includes(word));
  });
  return (
    <nav className="sidebar" aria-label={t("Conversations")}>
      <div className="sidebar-head">
        <strong className="brand">Deft</strong>
        <button
          className="quiet icon-only"
          aria-label={t("Commands")}
          title={t("Commands (Ctrl+K or ⌘K)")}
          onClick={() => useScreen.setState({ dialog: "palette" })}
        >
          <Search />
        </button>
        <button
          className="quiet icon-only"
          aria-label={t("Settings")}
          title={t("Settings")}
          onClick={() => useScreen.setState({ dialog: "settings" })}
        >
          <Settings />
        </button>
      </div>
      <button className="new-button" onClick={() => { go(null); useScreen.setState({ isSidebarOpen: false }); }}>
        <SquarePen /> {t("New conversation")}
      </button>
      <input
        type="search"
        aria-label={t("Search conversations")}
        placeholder={t("Search")}
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      {list.isError && <p className="hint" role="alert">{list.error.message}</p>}
      {list.isSuccess && all.length === 0 && <p className="hint">{t("No conversations yet.")}</p>}
      {all.length > 0 && found.length === 0 && <p className="hint">{t("Nothing found among those loaded.")}</p>}
      <ul className="conversations">
        {found.map((conversation) => (
          <Entry key={conversation.id} conversation={conversation} isCurrent={conversation.id === current} />
        ))}
      </ul>
      {(archived || all.some(isArchived)) && (
        <button className="quiet" aria-pressed={archived} onClick={() => setArchived(!archived)}>
          {archived ? t("Show those at work") : t("Show the archive")}
        </button>
      )}
      {list.hasNextPage && (
        <button onClick={() => void list.fetchNextPage()} disabled={list.isFetchingNextPage}>
          {t("Load older ones")}
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
          <span className="entry-folder">{conversation.workspace.working_dir.split("/").at(-1)}</span>
          {tagsOf(conversation).map((tag) => (
            <span key={tag} className="tag">
              {tag}
            </span>
          ))}
          <span>{cost}</span>
          <span>{ago(conversation.updated_at)}</span>
        </span>
      </a>
      <ConversationMenu conversation={conversation} isCurrent={isCurrent} />
    </li>
  );
}
