import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { withEarlier } from "../changes";
import { usePreferences } from "../preferences";
import { EDITORS, useTold } from "../told";
import { undone, without } from "../undone";
import { answeredCalls, type View } from "../view";
import { t } from "../words";
import { type GitChange, workspace } from "../workspace";
import { ChangedFile } from "./ChangedFile";
import { CommitForm } from "./CommitForm";
import { PushForm } from "./PushForm";
import { SendComments } from "./SendComments";

/** Files that are listed. */
const MAX_FILES = 200;

interface Props {
  id: string;
  view: View;
  onSend: (text: string, images: string[]) => Promise<void>;
}

/** What has become of the files, for a reviewer. */
export default function ChangesPanel({ id, view, onSend }: Props) {
  const { folder } = view;
  const [base, setBase] = useState<string | null>(null);
  const layout = usePreferences((preferences) => preferences.diff);
  const queries = useQueryClient();
  const changes = useQuery({
    queryKey: ["changes", id, "list", base],
    queryFn: () => workspace.changes(id, folder, base),
    enabled: folder !== "",
  });
  const commits = useQuery({
    queryKey: ["changes", id, "commits"],
    queryFn: () => workspace.commits(id, folder),
    enabled: folder !== "",
  });
  const answered = answeredCalls(view);
  useEffect(() => void queries.invalidateQueries({ queryKey: ["changes", id] }), [answered, view.status, id, queries]);

  const isRepository = (commits.data?.commits.length ?? 0) > 0 || (changes.data?.length ?? 0) > 0;
  const listed: GitChange[] = isRepository ? (changes.data ?? []) : [];
  const isFolder = commits.isSuccess && changes.isSuccess && !isRepository;
  const told = useTold(id, EDITORS, isFolder && view.hasEarlier);
  const all = useMemo(() => withEarlier(view.changes, told.events), [view.changes, told.events]);
  const noted = isFolder ? all : [];
  const gone = useQuery({
    queryKey: ["changes", id, "undone", noted.length],
    queryFn: () => undone(id, noted.slice(0, MAX_FILES)),
    // Each of them is read, so not at each step of the agent.
    enabled: noted.length > 0 && view.status !== "running",
    placeholderData: (before) => before,
  });
  const fromLog = gone.isLoading ? [] : without(noted, gone.data ?? []);
  const isKnown = commits.isSuccess && changes.isSuccess && !told.isLoading && !told.problem && !gone.isLoading;
  const problem = (changes.error ?? commits.error)?.message ?? told.problem;
  const isEmpty = isKnown && listed.length === 0 && fromLog.length === 0;
  const more = Math.max(listed.length, fromLog.length) - MAX_FILES;
  return (
    <>
      <div className="row tools">
        {isRepository && (
          <label className="inline">
            {t("Compare with")}
            <select value={base ?? ""} onChange={(event) => setBase(event.target.value || null)}>
              <option value="">{t("where the work began")}</option>
              <option value="HEAD">{t("the last commit")}</option>
              {commits.data?.commits.slice(1).map((commit) => (
                <option key={commit.sha} value={commit.sha}>
                  {commit.short_sha} {commit.subject}
                </option>
              ))}
            </select>
          </label>
        )}
        <div className="segments" role="group" aria-label={t("Layout")}>
          {(["inline", "beside"] as const).map((each) => (
            <button key={each} aria-pressed={layout === each} onClick={() => usePreferences.setState({ diff: each })}>
              {each === "inline" ? t("Inline") : t("Side by side")}
            </button>
          ))}
        </div>
      </div>
      {problem && (
        <p role="alert" className="problem">
          {problem}
        </p>
      )}
      {!isKnown && !problem && <p className="hint">{t("Loading…")}</p>}
      {isEmpty && <p className="hint">{t("Nothing has changed.")}</p>}
      {listed.slice(0, MAX_FILES).map(({ path, status }) => (
        <ChangedFile key={path} conversation={id} {...{ folder, path, status, base, layout }} />
      ))}
      {fromLog.length > 0 && (
        <p className="hint">{t("The folder is no repository: only what the agent’s editor changed is listed.")}</p>
      )}
      {told.isCut && <p className="hint">{t("The conversation is long: its first changes were not looked at.")}</p>}
      {fromLog.slice(0, MAX_FILES).map((change) => (
        <ChangedFile
          key={change.path}
          conversation={id}
          folder={folder}
          path={change.path.startsWith(`${folder}/`) ? change.path.slice(folder.length + 1) : change.path}
          status={change.before === null ? "ADDED" : change.after === null ? "DELETED" : "UPDATED"}
          base={null}
          layout={layout}
          known={change}
        />
      ))}
      {more > 0 && <p className="hint">{t("{n} more files changed.", { n: more })}</p>}
      <div className="feet">
        <SendComments id={id} isAsked={view.status === "waiting_for_confirmation"} onSend={onSend} />
        {listed.length > 0 && <CommitForm id={id} folder={folder} />}
        {isRepository && <PushForm id={id} folder={folder} title={commits.data?.commits[0]?.subject ?? ""} />}
      </div>
    </>
  );
}
