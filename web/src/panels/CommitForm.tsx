import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { commitCommand } from "../quoting";
import { t } from "../words";
import { workspace } from "../workspace";

/** Commits everything that has changed. */
export function CommitForm({ id, folder }: { id: string; folder: string }) {
  const [message, setMessage] = useState("");
  const queries = useQueryClient();
  const commit = useMutation({
    mutationFn: () => workspace.run(id, commitCommand(message.trim()), folder),
    onSuccess: () => {
      setMessage("");
      void queries.invalidateQueries({ queryKey: ["changes", id] });
    },
  });
  return (
    <form
      className="row foot"
      onSubmit={(event) => {
        event.preventDefault();
        if (message.trim()) commit.mutate();
      }}
    >
      <input
        aria-label={t("Commit message")}
        placeholder={t("Commit message")}
        value={message}
        onChange={(event) => setMessage(event.target.value)}
      />
      <button disabled={!message.trim() || commit.isPending}>{commit.isPending ? t("Committing…") : t("Commit all")}</button>
      {commit.isError && (
        <p role="alert" className="problem">
          {commit.error.message}
        </p>
      )}
      {commit.isSuccess && <p role="status">{t("Committed.")}</p>}
    </form>
  );
}
