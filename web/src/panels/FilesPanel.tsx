import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { File, Folder } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { unreadable } from "../attachments";
import { wayTo } from "../folders";
import { short } from "../meter";
import { Crumbs } from "../parts/Crumbs";
import { EntryButton } from "../parts/EntryButton";
import { answeredCalls, type View } from "../view";
import { t } from "../words";
import { type Entry, workspace } from "../workspace";
import { FileView } from "./FileView";
import { Replacing } from "./Replacing";

/** The files of the workspace: look around, read, fetch and bring. */
export default function FilesPanel({ id, view }: { id: string; view: View }) {
  const { folder, status } = view;
  const [chosen, setPlace] = useState<string | null>(null);
  const place = chosen ?? folder;
  const [file, setFile] = useState<Entry | null>(null);
  const [name, setName] = useState("");
  const queries = useQueryClient();
  const answered = answeredCalls(view);
  useEffect(() => void queries.invalidateQueries({ queryKey: ["files", id] }), [answered, status, id, queries]);
  const chooser = useRef<HTMLInputElement>(null);
  const listed = useInfiniteQuery({
    queryKey: ["files", id, place],
    queryFn: ({ pageParam }) => workspace.entries(id, place, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_id,
    enabled: folder !== "" && name === "",
  });
  const found = useQuery({
    queryKey: ["files", id, "named", name],
    queryFn: () => workspace.find(id, name),
    enabled: name !== "",
  });
  const upload = useMutation({
    mutationFn: (files: readonly File[]) =>
      Promise.all(files.map((each) => workspace.write(id, `${place}/${each.name}`, each))),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["files", id] }),
  });
  const [replacing, setReplacing] = useState<{ files: readonly File[]; names: string[] } | null>(null);
  /** What is there already is only replaced by who says so. */
  const bring = useMutation({
    mutationFn: async (files: readonly File[]) => {
      const complaint = (await Promise.all(files.map(unreadable))).find((said) => said !== null);
      if (complaint) throw new Error(complaint);
      return Promise.all(files.map((each) => workspace.isThere(id, place, each.name)));
    },
    onSuccess: (isThere, files) => {
      const names = files.map(({ name }) => name).filter((_, index) => isThere[index]);
      if (names.length > 0) setReplacing({ files, names });
      else upload.mutate(files);
    },
  });
  const all = name ? (found.data?.items ?? []) : (listed.data?.pages.flatMap((page) => page.items) ?? []);
  const sorted = all.toSorted((one, other) => Number(other.kind === "directory") - Number(one.kind === "directory"));
  const problem = listed.error ?? found.error ?? bring.error ?? upload.error;
  if (file) return <FileView conversation={id} file={file} folder={folder} onBack={() => setFile(null)} />;
  return (
    <div
      className="files"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        if (event.dataTransfer.files.length > 0) bring.mutate([...event.dataTransfer.files]);
      }}
    >
      <div className="row tools">
        <input
          type="search"
          aria-label={t("Find a file")}
          placeholder={t("Find a file")}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <button onClick={() => chooser.current?.click()} disabled={bring.isPending || upload.isPending}>
          {t("Upload")}
        </button>
        <input
          ref={chooser}
          type="file"
          hidden
          multiple
          aria-label={t("Files to upload")}
          onChange={(event) => {
            if (event.target.files?.length) bring.mutate([...event.target.files]);
            event.target.value = "";
          }}
        />
      </div>
      {!name && <Crumbs way={wayTo(place, [{ name: folder.split("/").at(-1) || "/", path: folder }])} onGo={setPlace} />}
      {problem && (
        <p role="alert" className="problem">
          {problem.message}
        </p>
      )}
      <ul className="entries">
        {sorted.map((entry) => (
          <li key={entry.path}>
            <EntryButton
              icon={entry.kind === "directory" ? Folder : File}
              name={entry.name}
              disabled={entry.kind === "special"}
              onClick={() => {
                if (entry.kind !== "directory") return setFile(entry);
                setName("");
                setPlace(entry.path);
              }}
            >
              {entry.kind === "directory" ? (
                <span className="visually-hidden">{t("folder")}</span>
              ) : (
                <span className="hint">{short(entry.size)}B</span>
              )}
            </EntryButton>
          </li>
        ))}
      </ul>
      {(name ? found : listed).isSuccess && all.length === 0 && (
        <p className="hint">{name ? t("Nothing found.") : t("Nothing is here.")}</p>
      )}
      {!name && listed.hasNextPage && <button onClick={() => void listed.fetchNextPage()}>{t("More")}</button>}
      {replacing && (
        <Replacing
          names={replacing.names}
          onClose={() => setReplacing(null)}
          onReplace={() => {
            setReplacing(null);
            upload.mutate(replacing.files);
          }}
        />
      )}
    </div>
  );
}
