import { Bot, Command, Settings, SquarePen } from "lucide-react";
import { useEffect, useState } from "react";
import { ago } from "../ago";
import { nested } from "../children";
import { MAX_PAGES, useConversations, usePages, useSaid } from "../conversations";
import { withChord } from "../keys";
import { dollars, meterOf } from "../meter";
import { isArchived, nameOf, tagsOf } from "../name";
import { noteStatus } from "../notify";
import { visibleControls } from "../plain";
import { go } from "../route";
import { useScreen } from "../screen";
import type { Conversation } from "../wire";
import { t } from "../words";
import { ConversationMenu } from "./ConversationMenu";
import { StatusMark, statusWords } from "./StatusMark";

export function Sidebar({ current }: { current: string | null }) {
  const [search, setSearch] = useState("");
  const [archived, setArchived] = useState(false);
  const [pages, setPages] = useState(1);
  // Who searches searches all, as far as that is reasonable; and what is put away may be old.
  const shown = search || archived ? Math.max(pages, MAX_PAGES) : pages;
  const list = usePages(shown);
  const all = list.items;
  const newest = useConversations();
  // Of the one on the screen its stream tells, sooner; of sub-agents nobody needs to hear.
  useEffect(() => {
    for (const each of newest.data?.items ?? []) {
      if (each.id === current || each.parent_conversation_id) continue;
      noteStatus(each.id, nameOf(each), each.execution_status, each.updated_at);
    }
  }, [newest.data, current]);
  const words = search.toLowerCase().split(/\s+/);
  const said = useSaid(search);
  const older = said.filter(({ id }) => !all.some((each) => each.id === id));
  const found = [...all, ...older].filter((conversation) => {
    const status = statusWords()[conversation.execution_status];
    const facts = [nameOf(conversation), conversation.workspace.working_dir, status, ...tagsOf(conversation)];
    const text = facts.join(" ");
    if (isArchived(conversation) !== archived && conversation.id !== current) return false;
    return words.every((word) => text.toLowerCase().includes(word)) || said.some(({ id }) => id === conversation.id);
  });
  return (
    <nav className="sidebar" aria-label={t("Conversations")}>
      <div className="sidebar-head">
        <strong className="brand">Deft</strong>
        <button
          className="quiet icon-only"
          aria-label={t("Commands")}
          title={withChord(t("Commands"), "palette")}
          onClick={() => useScreen.setState({ dialog: "palette" })}
        >
          <Command />
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
      {list.error && <p className="hint" role="alert">{list.error.message}</p>}
      {list.isSuccess && all.length === 0 && <p className="hint">{t("No conversations yet.")}</p>}
      {all.length > 0 && found.length === 0 && <p className="hint">{t("Nothing found.")}</p>}
      <ul className="conversations">
        {nested(found).map(({ conversation, children }) => {
          const entry = (each: Conversation, kind: "own" | "sub-agent") => (
            <Entry key={each.id} conversation={each} kind={kind} isCurrent={each.id === current} />
          );
          // Sub-agents are shown while one of the family is looked at, or searched for.
          const isOpen = search !== "" || [conversation, ...children].some(({ id }) => id === current);
          return [entry(conversation, "own"), ...(isOpen ? children.map((child) => entry(child, "sub-agent")) : [])];
        })}
      </ul>
      {all.length > 0 && (
        <button className="quiet" aria-pressed={archived} onClick={() => setArchived(!archived)}>
          {archived ? t("Leave the archive") : t("Show the archive")}
        </button>
      )}
      {list.hasMore && !search && (
        <button onClick={() => setPages(shown + 1)} disabled={list.isLoading}>
          {t("Load older ones")}
        </button>
      )}
    </nav>
  );
}

function Entry({ conversation, kind, isCurrent }: { conversation: Conversation; kind: "own" | "sub-agent"; isCurrent: boolean }) {
  const cost = dollars(meterOf(conversation.stats));
  const tags = tagsOf(conversation);
  return (
    <li className={`entry ${kind} ${isCurrent ? "current" : ""}`}>
      <a
        href={`/c/${conversation.id}`}
        aria-current={isCurrent ? "page" : undefined}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return;
          event.preventDefault();
          go(conversation.id);
        }}
      >
        <span className="entry-head">
          <span className="entry-title" dir="auto">
            {kind === "sub-agent" && <Bot aria-label={t("Sub-agent")} />} {nameOf(conversation)}
          </span>
        </span>
        <span className="entry-facts">
          <StatusMark status={conversation.execution_status} />
          <span className="entry-folder">{conversation.workspace.working_dir.split("/").at(-1)}</span>
          <span>{cost}</span>
          <span>{ago(conversation.updated_at)}</span>
        </span>
        {tags.length > 0 && (
          <span className="entry-tags">
            {tags.map((tag) => (
              <span key={tag} className="tag">
                {visibleControls(tag)}
              </span>
            ))}
          </span>
        )}
      </a>
      <ConversationMenu conversation={conversation} isCurrent={isCurrent} />
    </li>
  );
}
