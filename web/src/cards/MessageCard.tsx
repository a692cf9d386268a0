import { useMutation } from "@tanstack/react-query";
import { GitFork, Pencil, Undo2 } from "lucide-react";
import { useState, useSyncExternalStore } from "react";
import { api } from "../api";
import { useDesk, useDeskIfAny } from "../desk";
import { CopyButton } from "../parts/CopyButton";
import { Markdown } from "../parts/Markdown";
import { go } from "../route";
import type { Item, Speaker } from "../view";
import { t } from "../words";
import { CriticNote } from "./CriticNote";
import { Images } from "./Images";
import { Reasoning } from "./Reasoning";
import { SpentNote } from "./SpentNote";

type Message = Item & { type: "message" };

const speakers = (): Record<Speaker, string> => ({ user: t("You"), agent: t("Agent"), environment: "Deft" });

/** Something that was said, and what can be done from there. */
export function MessageCard({ message }: { message: Message }) {
  const [edit, setEdit] = useState<"never" | "open" | "closed">("never");
  const canAct = useDeskIfAny() !== null;
  if (edit === "open") return <EditForm message={message} onClose={() => setEdit("closed")} />;
  return (
    <article className={`message from-${message.from}`} aria-label={speakers()[message.from]}>
      {message.from === "environment" && <strong className="hint">{speakers().environment}</strong>}
      <Reasoning id={message.id} text={message.reasoning} />
      <Markdown text={message.text} lines={message.from === "user" ? "kept" : "joined"} />
      <Images urls={message.images} />
      <CriticNote critic={message.critic} />
      {message.spent && <SpentNote spent={message.spent} />}
      {canAct && <MessageActions message={message} wasEdited={edit === "closed"} onEdit={() => setEdit("open")} />}
    </article>
  );
}

/** `wasEdited`: the form has just been closed, and its button, which is made anew, gets the focus back. */
function MessageActions({ message, wasEdited, onEdit }: { message: Message; wasEdited: boolean; onEdit: () => void }) {
  const { id, stream, rewind, complain } = useDesk();
  // While it runs, the place where it stands cannot be changed.
  const isBusy = useSyncExternalStore(stream.subscribe, () => stream.current().view.status === "running");
  const title = isBusy ? t("Stop it first") : undefined;
  const isOwn = message.from === "user";
  const versions = isOwn ? stream.fold.versionsOf(message.id) : [];
  const place = versions.indexOf(message.id);
  const show = (version: string | undefined) => {
    if (version) api.navigate(id, stream.fold.leafOf(version)).catch(complain);
  };
  const fork = useMutation({ mutationFn: () => api.fork(id, message.id), onSuccess: (copy) => go(copy.id), onError: complain });
  return (
    <div className="message-actions">
      {versions.length > 1 && (
        <span className="versions">
          <button className="quiet" aria-label={t("Previous version")} disabled={place === 0} onClick={() => show(versions[place - 1])}>
            ‹
          </button>
          {place + 1}/{versions.length}
          <button
            className="quiet"
            aria-label={t("Next version")}
            disabled={place === versions.length - 1}
            onClick={() => show(versions[place + 1])}
          >
            ›
          </button>
        </span>
      )}
      {isOwn && (
        <>
          <button className="quiet" autoFocus={wasEdited} disabled={isBusy} title={title} onClick={onEdit}>
            <Pencil /> {t("Edit")}
          </button>
          <button className="quiet" disabled={isBusy} title={title} onClick={() => rewind(message.id)}>
            <Undo2 /> {t("Rewind")}
          </button>
        </>
      )}
      <button className="quiet" disabled={fork.isPending} onClick={() => fork.mutate()}>
        <GitFork /> {t("Fork")}
      </button>
      <CopyButton look="quiet" text={() => message.text} />
    </div>
  );
}

/** Says something else in the same place. What was said before stays, as another version. */
function EditForm({ message, onClose }: { message: Message; onClose: () => void }) {
  const { id, stream, send, complain } = useDesk();
  const [text, setText] = useState(message.text);
  const submit = useMutation({
    mutationFn: async () => {
      await api.navigate(id, await stream.parentOf(message.id));
      onClose();
      await send(text.trim(), message.images);
    },
    onError: complain,
  });
  return (
    <form
      className="message from-user edit"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() && !submit.isPending) submit.mutate();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) event.currentTarget.requestSubmit();
      }}
    >
      <textarea
        autoFocus
        aria-label={t("The message, changed")}
        rows={Math.min(12, Math.max(2, text.split("\n").length))}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <p className="hint">{t("The conversation goes on from here. What came of the old words stays as another version.")}</p>
      <div className="row end">
        <button type="button" onClick={onClose}>
          {t("Cancel")}
        </button>
        <button className="primary" disabled={!text.trim() || submit.isPending}>
          {t("Send")}
        </button>
      </div>
    </form>
  );
}
