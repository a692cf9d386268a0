import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { forge, type Target } from "../forge";
import { plain, visibleControls } from "../plain";
import { useScreen } from "../screen";
import { t } from "../words";

/** Brings the branch to where the repository is shared, and asks for it to be taken in there. */
export function PushForm({ id, folder, title }: { id: string; folder: string; title: string }) {
  const remote = useQuery({ queryKey: ["changes", id, "remote"], queryFn: () => forge.remote(id, folder) });
  const { branch, host, repository, kind } = remote.data ?? {};
  if (!branch || !host || !repository) return null;
  const place = t("{branch} to {repository} at {host}", { branch: visibleControls(branch), repository, host });
  if (!kind) {
    return (
      <p className="row foot hint">
        {t("To push {place}, add a git account for {host}.", { place, host })}{" "}
        <button onClick={() => useScreen.setState({ dialog: "settings", section: "git" })}>{t("Settings")}</button>
      </p>
    );
  }
  return <Pushing id={id} target={{ path: folder, host, repository }} place={place} title={title} />;
}

function Pushing({ id, target, place, title }: { id: string; target: Target; place: string; title: string }) {
  const [isAsked, setAsked] = useState(false);
  // Until it is given another one it has that of the last commit, which may come while this is open.
  const [named, setName] = useState<string | null>(null);
  const name = named ?? title;
  const [text, setText] = useState("");
  const push = useMutation({ mutationFn: () => forge.push(id, target) });
  const open = useMutation({
    mutationFn: async () => {
      await forge.push(id, target);
      return forge.openPullRequest(id, target, name.trim(), text.trim());
    },
    onSuccess: () => setAsked(false),
  });
  const isBusy = push.isPending || open.isPending;
  const problem = open.error ?? push.error;
  return (
    <div className="foot push">
      <div className="row">
        <span className="list-title">{place}</span>
        <button disabled={isBusy} onClick={() => push.mutate()}>
          {push.isPending ? t("Pushing…") : t("Push")}
        </button>
        <button aria-expanded={isAsked} disabled={isBusy} onClick={() => setAsked(!isAsked)}>
          {t("Pull request")}
        </button>
      </div>
      {isAsked && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            open.mutate();
          }}
        >
          <label>
            {t("Title")}
            <input required maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
          </label>
          <label>
            {t("Description")}
            <textarea rows={3} value={text} onChange={(event) => setText(event.target.value)} />
          </label>
          <div className="row end">
            <button className="primary" disabled={!name.trim() || isBusy}>
              {open.isPending ? t("Pushing…") : t("Push and open it")}
            </button>
          </div>
        </form>
      )}
      {problem && (
        <p role="alert" className="problem">
          {plain(problem.message)}
        </p>
      )}
      {push.isSuccess && !open.data && <p role="status">{t("Pushed.")}</p>}
      {open.data && (
        <p role="status">
          {t("Opened:")}{" "}
          <a href={open.data} target="_blank" rel="noreferrer noopener nofollow">
            {open.data}
          </a>
        </p>
      )}
    </div>
  );
}
