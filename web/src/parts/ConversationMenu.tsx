import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Ellipsis } from "lucide-react";
import { useState } from "react";
import { api } from "../api";
import { refreshConversations } from "../conversations";
import { exportConversation, type Format } from "../export";
import { lazily } from "../lazily";
import { isArchived, nameOf, tagsOf, withArchived, withTags } from "../name";
import { whatGoes } from "../removal";
import { go } from "../route";
import type { Conversation } from "../wire";
import { t } from "../words";
import { Dialog } from "./Dialog";
import { LazyDialog } from "./LazyDialog";
import { Menu } from "./Menu";

const ShareDialog = lazily(() => import("./ShareDialog"));

type Task = "rename" | "tags" | "delete" | "archive" | "fork" | "stop" | Format;

/** What can be done with a conversation in the list. */
export function ConversationMenu({ conversation, isCurrent }: { conversation: Conversation; isCurrent: boolean }) {
  const [open, setOpen] = useState<"rename" | "tags" | "delete" | null>(null);
  const [text, setText] = useState("");
  const [isShared, setShared] = useState(false);
  const queries = useQueryClient();
  const { id } = conversation;
  const name = nameOf(conversation);
  const act = useMutation({
    mutationFn: async (task: Task): Promise<unknown> => {
      switch (task) {
        case "rename":
          return api.change(id, { title: text });
        case "tags":
          return api.change(id, { tags: withTags(conversation, text) });
        case "archive":
          return api.change(id, { tags: withArchived(conversation, !isArchived(conversation)) });
        case "stop":
          return api.stop(id);
        case "delete":
          return api.remove(id);
        case "fork":
          return go((await api.fork(id, null)).id);
        case "Markdown":
        case "HTML":
        case "JSON":
          return exportConversation(id, task);
      }
    },
    onSuccess: (_, task) => {
      refreshConversations(queries, "all");
      void queries.invalidateQueries({ queryKey: ["conversation", id] });
      setOpen(null);
      if (task === "delete" && isCurrent) go(null);
    },
  });
  const ask = (what: "rename" | "tags") => () => {
    setText(what === "rename" ? name : tagsOf(conversation).join(" "));
    setOpen(what);
  };
  const close = () => {
    setOpen(null);
    act.reset();
  };
  const does = (task: Task) => () => act.mutate(task);
  const titles = { rename: t("Rename"), tags: t("Tags"), delete: t("Delete this conversation?") };
  return (
    <>
      <Menu
        label={t("More about {name}", { name })}
        items={[
          ...(conversation.execution_status === "running" ? [{ label: t("Stop"), onChoose: does("stop") }] : []),
          { label: t("Rename"), onChoose: ask("rename") },
          { label: t("Tags"), onChoose: ask("tags") },
          { label: isArchived(conversation) ? t("Unarchive") : t("Archive"), onChoose: does("archive") },
          { label: t("Fork"), onChoose: does("fork") },
          { label: t("Share"), onChoose: () => setShared(true) },
          { label: t("Export as Markdown"), onChoose: does("Markdown") },
          { label: t("Export as HTML"), onChoose: does("HTML") },
          { label: t("Export as JSON"), onChoose: does("JSON") },
          { label: t("Delete"), onChoose: () => setOpen("delete"), isDangerous: true },
        ]}
      >
        <Ellipsis />
      </Menu>
      {isShared && (
        <LazyDialog onClose={() => setShared(false)}>
          <ShareDialog id={id} name={name} onClose={() => setShared(false)} />
        </LazyDialog>
      )}
      {!open && act.isError && (
        <Dialog title={t("That did not work")} onClose={act.reset}>
          <p role="alert" className="problem">
            {act.error.message}
          </p>
        </Dialog>
      )}
      {open && (
        <Dialog title={titles[open]} onClose={close}>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              act.mutate(open);
            }}
          >
            {open === "delete" ? (
              <p>{whatGoes(conversation)}</p>
            ) : (
              <label>
                {open === "rename" ? t("Title") : t("Words, with spaces between them")}
                <input autoFocus maxLength={200} value={text} onChange={(event) => setText(event.target.value)} />
              </label>
            )}
            {act.isError && (
              <p role="alert" className="problem">
                {act.error.message}
              </p>
            )}
            <div className="row end">
              <button type="button" onClick={close}>
                {t("Cancel")}
              </button>
              <button className={open === "delete" ? "danger" : "primary"} disabled={act.isPending || (open === "rename" && !text.trim())}>
                {open === "delete" ? t("Delete") : t("Save")}
              </button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  );
}
