import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type Change, diffOf, type Line, withoutHunk } from "../changes";
import { addComment, removeComment, useComments } from "../comments";
import { plain } from "../plain";
import { quoted } from "../quoting";
import { useCard } from "../screen";
import { t } from "../words";
import { workspace } from "../workspace";
import { type DiffLayout, DiffTable } from "./DiffTable";

const NO_COMMENTS: never[] = [];

interface Props {
  conversation: string;
  folder: string;
  /** Within the folder. */
  path: string;
  status: "ADDED" | "UPDATED" | "DELETED" | "MOVED";
  /** What it is compared with. */
  base: string | null;
  layout: DiffLayout;
  /** What is known already; else git is asked. */
  known?: Change;
}

const LETTERS = { ADDED: "A", UPDATED: "M", DELETED: "D", MOVED: "R" };
const words = () => ({ ADDED: t("New"), UPDATED: t("Changed"), DELETED: t("Deleted"), MOVED: t("Moved") });

/** One file of those that changed: its lines, and what a reviewer does about them. */
export function ChangedFile({ conversation, folder, path, status, base, layout, known }: Props) {
  const [isOpen, toggle] = useCard(`changes/${conversation}/${path}`, true);
  const whole = `${folder}/${path}`;
  const queries = useQueryClient();
  const sides = useQuery({
    queryKey: ["changes", conversation, "diff", path, base],
    queryFn: () => workspace.diff(conversation, whole, base),
    enabled: isOpen && !known,
  });
  const loaded = sides.data && {
    path,
    before: status === "ADDED" ? null : (sides.data.original ?? ""),
    after: sides.data.modified ?? "",
  };
  const change: Change | undefined = known ? { ...known, path } : loaded;
  const diff = change && diffOf(change);
  const all = useComments((comments) => comments[conversation]) ?? NO_COMMENTS;
  const revert = useMutation({
    mutationFn: async (hunk: number | "all") => {
      if (!change) return;
      if (hunk === "all" && change.before === null) {
        await workspace.run(conversation, `rm -- ${quoted(whole)}`, folder);
        return;
      }
      const now = status === "DELETED" ? "" : await (await workspace.read(conversation, whole)).text();
      const without = hunk === "all" ? change.before : withoutHunk(change, hunk, now);
      if (without === null) throw new Error(t("The file has changed meanwhile. Look again and repeat it."));
      await workspace.write(conversation, whole, new Blob([without]));
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["changes", conversation] }),
  });
  const comment = (line: Line, text: string) => {
    const side = line.type === "removed" ? "old" : "new";
    addComment(conversation, { path, line: line[side] ?? 0, side, code: line.text, text });
  };
  return (
    <section className="card changed" aria-label={path}>
      <div className="card-bar">
        <button className="card-head" aria-expanded={isOpen} onClick={toggle}>
          <span className={`letter letter-${status.toLowerCase()}`} role="img" aria-label={words()[status]}>
            {LETTERS[status]}
          </span>
          <code className="card-title">{plain(path)}</code>
          {diff && (
            <span className="outcome counts">
              <span className="good">+{diff.added}</span> <span className="bad">−{diff.removed}</span>
            </span>
          )}
        </button>
        <button className="quiet" disabled={!change || revert.isPending} onClick={() => revert.mutate("all")}>
          {t("Revert")}
        </button>
      </div>
      {(revert.isError || sides.isError) && (
        <p role="alert" className="problem">
          {(revert.error ?? sides.error)?.message}
        </p>
      )}
      {isOpen && change && (
        <DiffTable
          change={change}
          layout={layout}
          review={{
            comments: all.filter((comment) => comment.path === path),
            onComment: comment,
            onRemove: (comment) => removeComment(conversation, comment),
            onRevert: status === "UPDATED" ? (hunk) => revert.mutate(hunk) : undefined,
          }}
        />
      )}
      {isOpen && !change && !sides.isError && <p className="hint">{t("Loading…")}</p>}
    </section>
  );
}
