import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api";
import { useDesk } from "../desk";
import { visibleControls } from "../plain";
import { failureWords, takeBack, type WayBack } from "../rewinding";
import type { View } from "../view";
import { t } from "../words";
import { type Checkpoint, type Undo, workspace } from "../workspace";
import { Dialog } from "./Dialog";

type What = "both" | "files" | "conversation";

interface Props {
  view: View;
  message: string;
  /** It was done, and can be undone. */
  onRewound: (way: WayBack) => void;
  onClose: () => void;
}

/** Goes back to before a message: with the files, the conversation, or both. What would change is shown first. */
export default function Rewind({ view, message, onRewound, onClose }: Props) {
  const { id, stream, write } = useDesk();
  const queries = useQueryClient();
  const [what, setWhat] = useState<What>("both");
  const [overwrite, setOverwrite] = useState(false);
  const all = useQuery({ queryKey: ["checkpoints", id], queryFn: () => workspace.checkpoints(id), gcTime: 0 });
  const to = all.data && firstSince(all.data, view, message);
  const preview = useQuery({
    queryKey: ["checkpoints", id, to],
    queryFn: () => workspace.preview(id, to ?? 0),
    enabled: typeof to === "number",
    gcTime: 0,
    retry: false,
  });
  const said = view.items.find((item) => item.id === message);
  const refresh = () => {
    void queries.invalidateQueries({ queryKey: ["changes", id] });
    void queries.invalidateQueries({ queryKey: ["files", id] });
    void queries.invalidateQueries({ queryKey: ["checkpoints", id] });
  };
  const undo = useMutation({ mutationFn: (way: WayBack) => takeBack(id, way), onSuccess: onClose, onSettled: refresh });
  const rewind = useMutation({
    mutationFn: async () => {
      // Asked for first: where it is not known, nothing is done.
      const parent = what === "files" ? null : await stream.parentOf(message);
      const restored = what !== "conversation" && typeof to === "number" ? await workspace.restore(id, to, overwrite) : null;
      const way: WayBack = { checkpoint: restored?.undo ?? null, leaf: null };
      // A part of what was wanted is no state that there ever was: whoever looks decides.
      if (restored && restored.failed.length > 0) return { way, problem: failureWords(restored.failed) };
      if (what !== "files") {
        way.leaf = stream.fold.standing;
        try {
          await api.navigate(id, parent);
        } catch (error) {
          if (!restored) throw error;
          const why = error instanceof Error ? error.message : String(error);
          return { way, problem: t("The files went back, but not the conversation: {why}", { why }) };
        }
        if (said?.type === "message") write(said.text, said.images);
      }
      return { way, problem: null };
    },
    onSuccess: ({ way, problem }) => {
      if (problem) return;
      onRewound(way);
      onClose();
    },
    onSettled: refresh,
  });
  const changes = preview.data ?? [];
  const foreign = changes.some((change) => change.edited_since);
  const words: Record<What, string> = {
    both: t("Files and conversation"),
    conversation: t("Only the conversation"),
    files: t("Only the files"),
  };
  const problem = undo.error ?? rewind.error ?? preview.error ?? all.error;
  const partly = rewind.data?.problem ? rewind.data : null;
  return (
    <Dialog title={t("Rewind to before this message")} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          rewind.mutate();
        }}
      >
        <fieldset>
          <legend>{t("What goes back")}</legend>
          {(["both", "conversation", "files"] as const).map((each) => (
            <label key={each} className="inline">
              <input type="radio" name="what" checked={what === each} onChange={() => setWhat(each)} /> {words[each]}
            </label>
          ))}
        </fieldset>
        {what !== "conversation" && (
          <section aria-label={t("What changes in the files")}>
            {all.isSuccess && to === null && <p className="hint">{t("No file was changed since then.")}</p>}
            {preview.isSuccess && changes.length === 0 && <p className="hint">{t("The files are as they were then.")}</p>}
            <ul className="undos" tabIndex={0} aria-label={t("Files")}>
              {changes.map((change) => (
                <li key={change.path}>
                  <code>{visibleControls(change.path)}</code> <span className="card-label">{effect(change)}</span>{" "}
                  {change.edited_since && <span className="busy">{t("edited by somebody else since")}</span>}
                </li>
              ))}
            </ul>
            {foreign && (
              <label className="inline">
                <input type="checkbox" checked={overwrite} onChange={(event) => setOverwrite(event.target.checked)} />{" "}
                {t("Overwrite those edits, too")}
              </label>
            )}
          </section>
        )}
        {problem && (
          <p role="alert" className="problem">
            {problem.message}
          </p>
        )}
        {partly && (
          <div className="row">
            <p role="alert" className="problem">
              {partly.problem}
            </p>
            <button type="button" disabled={undo.isPending} onClick={() => undo.mutate(partly.way)}>
              {t("Undo it")}
            </button>
          </div>
        )}
        <div className="row end">
          <button type="button" onClick={onClose}>
            {t("Cancel")}
          </button>
          <button className="primary" disabled={rewind.isPending || all.isPending || (foreign && !overwrite && what !== "conversation")}>
            {t("Rewind")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function effect({ effect }: Undo): string {
  if (typeof effect !== "string") return t("stays as it is");
  return { create: t("is created again"), modify: t("is changed back"), delete: t("is removed") }[effect];
}

/** The first checkpoint of this message's turn or a later one: what the files were before it. Null: there is none. */
function firstSince(all: readonly Checkpoint[], view: View, message: string): number | null {
  const said = view.items.filter((item) => item.type === "message" && item.from === "user").map((item) => item.id);
  const since = new Set(said.slice(said.indexOf(message)));
  return all.find((checkpoint) => since.has(checkpoint.message_id))?.id ?? null;
}
