import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Folder as FolderIcon } from "lucide-react";
import { useState } from "react";
import { folders, wayTo } from "../folders";
import { visibleControls } from "../plain";
import { t } from "../words";
import { Crumbs } from "./Crumbs";
import { Dialog } from "./Dialog";
import { EntryButton } from "./EntryButton";

interface Props {
  /** Where to begin. */
  folder: string;
  onChoose: (folder: string) => void;
  onClose: () => void;
}

/** Looks around on the server's machine for a folder to work in. */
export default function FolderDialog({ folder, onChoose, onClose }: Props) {
  const [wanted, setWanted] = useState(folder);
  const roots = useQuery({ queryKey: ["folders", "roots"], queryFn: folders.roots });
  const way = wayTo(wanted, roots.data ?? []);
  const here = way.at(-1)?.path ?? roots.data?.[0]?.path ?? "";
  const found = useInfiniteQuery({
    queryKey: ["folders", here],
    queryFn: ({ pageParam }) => folders.within(here, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    enabled: here !== "",
    retry: false,
  });
  const inside = found.data?.pages.flatMap((page) => page.folders) ?? [];
  const problem = roots.error ?? found.error;
  return (
    <Dialog title={t("Choose a folder")} onClose={onClose}>
      {roots.data && roots.data.length > 1 && (
        <div className="segments" role="group" aria-label={t("Where to look")}>
          {roots.data.map(({ name, path }) => (
            <button key={path} type="button" aria-pressed={way[0]?.path === path} onClick={() => setWanted(path)}>
              {visibleControls(name)}
            </button>
          ))}
        </div>
      )}
      <Crumbs way={way} onGo={setWanted} />
      {problem && (
        <p role="alert" className="problem">
          {problem.message}
        </p>
      )}
      <ul className="entries picker">
        {inside.map(({ name, path }) => (
          <li key={path}>
            <EntryButton icon={FolderIcon} name={name} onClick={() => setWanted(path)} />
          </li>
        ))}
        {found.isPending && !problem && <li className="hint">{t("Loading…")}</li>}
        {found.isSuccess && inside.length === 0 && <li className="hint">{t("There are no folders in it.")}</li>}
      </ul>
      <div className="row end">
        {found.hasNextPage && (
          <button type="button" onClick={() => void found.fetchNextPage()}>
            {t("More")}
          </button>
        )}
        <button
          type="button"
          className="primary"
          disabled={here === ""}
          onClick={() => {
            onChoose(here);
            onClose();
          }}
        >
          {t("Work here")}
        </button>
      </div>
    </Dialog>
  );
}
