import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type Change, diffOf, type Line } from "../changes";
import { addComment, removeComment, useComments } from "../comments";
import { Counts } from "../parts/Counts";
import { useInView } from "../parts/in-view";
import { visibleControls } from "../plain";
import { revertHunk, revertKnown } from "../reverting";
import { useCard } from "../screen";
import { t } from "../words";
import { workspace } from "../workspace";
import { type DiffLayout, DiffTable } from "./DiffTable";
import { RevertFile } from "./RevertFile";

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

/** What to say of a file that is listed although no line of it differs. */
const unchanged = (status: Props["status"]) =>
  status === "UPDATED" ? t("No line differs: what changed is something else, such as its rights.") : t("The file is empty.");

const unshown = (content: string) =>
  content === "binary" ? t("It is no text: there are no lines to compare.") : t("The file is too large to compare here.");

/** One file of those that changed: its lines, and what a reviewer does about them. */
export function ChangedFile({ conversation, folder, path, status, base, layout, known }: Props) {
  const [isOpen, toggle] = useCard(`changes/${conversation}/${path}`, true);
  const [place, isInView] = useInView<HTMLElement>();
  const whole = `${folder}/${path}`;
  const queries = useQueryClient();
  const review = useQuery({
    queryKey: ["changes", conversation, "review", path, base],
    queryFn: () => workspace.review(conversation, whole, base),
    // Each step of the agent makes all of them old: only what somebody sees is asked for again.
    enabled: !known && isOpen && isInView,
  });
  const seen = review.data;
  const loaded = seen?.content === "text" && {
    path,
    before: status === "ADDED" ? null : (seen.original ?? ""),
    after: seen.modified ?? "",
  };
  const change: Change | null = known ? { ...known, path } : loaded || null;
  const diff = change && diffOf(change);
  const all = useComments((comments) => comments[conversation]) ?? NO_COMMENTS;
  const revert = useMutation({
    mutationFn: async (what: number | "all") => {
      const place = { conversation, folder, path: whole };
      if (what !== "all") return change && revertHunk(place, change, what);
      if (known) return revertKnown(place, known);
      if (seen) await workspace.revert(conversation, whole, base, seen.version);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["changes", conversation] }),
  });
  const comment = (line: Line, text: string) => {
    const side = line.type === "removed" ? "old" : "new";
    addComment(conversation, { path, line: line[side] ?? 0, side, code: line.text, text });
  };
  return (
    <section ref={place} className="card changed" aria-label={visibleControls(path)}>
      <div className="card-bar">
        <button className="card-head" aria-expanded={isOpen} onClick={toggle}>
          <span className={`letter letter-${status.toLowerCase()}`} role="img" aria-label={words()[status]}>
            {LETTERS[status]}
          </span>
          <code className="card-title">{visibleControls(path)}</code>
          {diff && <Counts added={diff.added} removed={diff.removed} />}
        </button>
        <RevertFile
          path={path}
          isNew={status === "ADDED"}
          isDisabled={(!known && !seen) || revert.isPending}
          onRevert={() => revert.mutate("all")}
        />
      </div>
      {(revert.isError || review.isError) && (
        <p role="alert" className="problem">
          {(revert.error ?? review.error)?.message}
        </p>
      )}
      {isOpen && diff?.lines.length === 0 && <p className="hint">{unchanged(status)}</p>}
      {isOpen && change && diff?.lines.length !== 0 && (
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
      {isOpen && !change && !review.isError && <p className="hint">{seen ? unshown(seen.content) : t("Loading…")}</p>}
    </section>
  );
}
