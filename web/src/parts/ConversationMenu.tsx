import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api";
import { go } from "../route";
import type { Conversation } from "../wire";
import { Dialog } from "./Dialog";
import { nameOf } from "./Sidebar";

/** Renames or deletes a conversation. */
export function ConversationMenu({ conversation, isCurrent }: { conversation: Conversation; isCurrent: boolean }) {
  const [open, setOpen] = useState<"rename" | "delete" | null>(null);
  const [title, setTitle] = useState("");
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (what: "rename" | "delete") =>
      what === "rename" ? api.rename(conversation.id, title) : api.remove(conversation.id),
    onSuccess: (_, what) => {
      void queries.invalidateQueries({ queryKey: ["conversations"] });
      void queries.invalidateQueries({ queryKey: ["conversation", conversation.id] });
      setOpen(null);
      if (what === "delete" && isCurrent) go(null);
    },
  });
  const name = nameOf(conversation);
  return (
    <>
      <span className="entry-actions">
        <button
          className="quiet"
          aria-label={`Rename ${name}`}
          onClick={() => {
            setTitle(name);
            setOpen("rename");
          }}
        >
          ✎
        </button>
        <button className="quiet" aria-label={`Delete ${name}`} onClick={() => setOpen("delete")}>
          ✕
        </button>
      </span>
      {open && (
        <Dialog title={open === "rename" ? "Rename" : "Delete this conversation?"} onClose={() => setOpen(null)}>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              change.mutate(open);
            }}
          >
            {open === "rename" ? (
              <label>
                Title
                <input autoFocus maxLength={200} value={title} onChange={(event) => setTitle(event.target.value)} />
              </label>
            ) : (
              <p>
                “{name}” and what is running in it will be gone. The files in{" "}
                <code>{conversation.workspace.working_dir}</code> stay.
              </p>
            )}
            {change.isError && <p role="alert" className="problem">{change.error.message}</p>}
            <div className="row end">
              <button type="button" onClick={() => setOpen(null)}>
                Cancel
              </button>
              <button className={open === "rename" ? "primary" : "danger"} disabled={change.isPending}>
                {open === "rename" ? "Rename" : "Delete"}
              </button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  );
}
