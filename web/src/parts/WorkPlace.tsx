import { useQueries, useQuery } from "@tanstack/react-query";
import { FolderGit2, FolderOpen } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { useConversations } from "../conversations";
import { folders, placeOf } from "../folders";
import { forge } from "../forge";
import { lazily } from "../lazily";
import { usePreferences } from "../preferences";
import { fitting, repositories, wordsOf } from "../repositories";
import { useScreen } from "../screen";
import { useSettled } from "../settled";
import { server } from "../settings/server";
import { t } from "../words";
import { EntryButton } from "./EntryButton";
import { LazyDialog } from "./LazyDialog";

const FolderDialog = lazily(() => import("./FolderDialog"));

/** Folders and repositories that are offered. */
const MAX_FOLDERS = 20;
const MAX_REPOSITORIES = 6;

/** Where a conversation is to work: in a folder of the server's, or in a repository that is fetched first. */
export interface Place {
  kind: "folder" | "repository";
  address: string;
  branch: string;
}

interface Props {
  folder: string;
  place: Place;
  onChange: (place: Place) => void;
}

/** Chooses a folder or a repository. */
export function WorkPlace({ folder, place, onChange }: Props) {
  return (
    <div className="work-place">
      <div className="segments" role="group" aria-label={t("Where to work")}>
        <button type="button" aria-pressed={place.kind === "folder"} onClick={() => onChange({ ...place, kind: "folder" })}>
          {t("Folder on the server")}
        </button>
        <button type="button" aria-pressed={place.kind === "repository"} onClick={() => onChange({ ...place, kind: "repository" })}>
          {t("Git repository")}
        </button>
      </div>
      {place.kind === "folder" ? <FolderField folder={folder} /> : <RepositoryFields place={place} onChange={onChange} />}
    </div>
  );
}

function FolderField({ folder }: { folder: string }) {
  const [isBrowsing, setBrowsing] = useState(false);
  // Who takes everything out writes another: the usual folder must not come in between.
  const [isEmpty, setEmpty] = useState(false);
  const choose = (folder: string) => {
    setEmpty(folder === "");
    usePreferences.setState({ folder });
  };
  const settled = useSettled(folder);
  const missing = useQuery({
    queryKey: ["folders", "missing", settled],
    queryFn: () => folders.isMissing(settled),
    enabled: settled !== "",
    retry: false,
  });
  return (
    <div className="with-button">
      <label>
        {t("Folder")}
        <input
          required
          list="folders"
          aria-describedby="folder-hint"
          value={isEmpty ? "" : folder}
          onChange={(event) => choose(event.target.value)}
        />
        <Folders />
      </label>
      <button type="button" onClick={() => setBrowsing(true)}>
        <FolderOpen /> {t("Browse")}
      </button>
      <p id="folder-hint" className="hint">
        {missing.data && !isEmpty && settled === folder && <strong>{t("There is no such folder yet. It is made when you start.")} </strong>}
        {t("Instead of a folder, this can name a workspace: docker:IMAGE, k8s:IMAGE, ssh:HOST/PATH, sandbox:PATH, local:PATH or remote:ADDRESS.")}
      </p>
      {isBrowsing && (
        <LazyDialog onClose={() => setBrowsing(false)}>
          <FolderDialog
            folder={folder}
            onChoose={choose}
            onClose={() => setBrowsing(false)}
          />
        </LazyDialog>
      )}
    </div>
  );
}

/** Folders to choose from: those that the server was told of, and those of earlier conversations. */
function Folders() {
  const kept = useQuery({ queryKey: ["workspaces"], queryFn: server.workspaces, staleTime: 60_000 });
  const recent = useConversations().data?.items ?? [];
  const all = [...(kept.data?.workspaces ?? []).map(({ path }) => path), ...recent.map(placeOf)];
  return (
    <datalist id="folders">
      {[...new Set(all)].slice(0, MAX_FOLDERS).map((path) => (
        <option key={path} value={path} />
      ))}
    </datalist>
  );
}

function RepositoryFields({ place, onChange }: Omit<Props, "folder">) {
  const { address, branch } = place;
  const accounts = useQuery({ queryKey: ["git-accounts"], queryFn: forge.accounts, staleTime: 60_000 });
  return (
    <>
      <div className="columns repository">
        <label>
          {t("Address of the repository")}
          <input
            required
            autoComplete="off"
            spellCheck={false}
            placeholder={accounts.data?.length ? t("an address, or words to search for") : "https://github.com/owner/name"}
            value={address}
            onChange={(event) => onChange({ ...place, address: event.target.value })}
          />
        </label>
        <label>
          {t("Branch")}
          <input
            autoComplete="off"
            spellCheck={false}
            placeholder={t("the default one")}
            value={branch}
            onChange={(event) => onChange({ ...place, branch: event.target.value })}
          />
        </label>
      </div>
      {accounts.data && accounts.data.length > 0 ? (
        <Repositories
          hosts={accounts.data.map(({ host }) => host)}
          written={address}
          onChoose={(address) => onChange({ ...place, address })}
        />
      ) : (
        <p className="hint">
          {t("It is fetched into a new folder on the server. For private repositories, and to choose from yours:")}{" "}
          <button
            type="button"
            className="link"
            onClick={() => useScreen.setState({ dialog: "settings", section: "git" })}
          >
            {t("add a git account")}
          </button>
        </p>
      )}
    </>
  );
}

/** The repositories of the accounts that go with what is written. */
function Repositories({ hosts, written, onChoose }: { hosts: string[]; written: string; onChoose: (address: string) => void }) {
  const words = useDeferredValue(wordsOf(written));
  const found = useQueries({
    queries: hosts.map((host) => ({
      queryKey: ["repositories", host, words],
      queryFn: () => repositories.of(host, words),
      staleTime: 60_000,
      retry: false,
    })),
  });
  const all = found.flatMap(({ data }) => data ?? []);
  const shown = fitting(all, written).slice(0, MAX_REPOSITORIES);
  const problem = found.find(({ error }) => error)?.error;
  return (
    <>
      {problem && (
        <p role="alert" className="problem">
          {problem.message}
        </p>
      )}
      <ul className="entries" aria-label={t("Your repositories")}>
        {shown.map(({ name, address, is_public }) => (
          <li key={address}>
            <EntryButton icon={FolderGit2} name={name} aria-pressed={address === written} title={address} onClick={() => onChoose(address)}>
              <span className="hint">{is_public ? t("public") : t("private")}</span>
            </EntryButton>
          </li>
        ))}
        {found.some(({ isPending }) => isPending) && <li className="hint">{t("Loading…")}</li>}
      </ul>
    </>
  );
}
