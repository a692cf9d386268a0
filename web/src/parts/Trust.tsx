import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { allow, type Decision, type Provided, providedWords } from "../allow";
import { visibleControls, visibleInFile } from "../plain";
import { usePreferences } from "../preferences";
import type { Status } from "../wire";
import { t } from "../words";
import { workspace } from "../workspace";

/** Decisions that this browser remembers. */
const MAX_DECIDED = 200;

/** What the project brings along that would run commands, and nobody has decided about. */
export function Trust({ id, status, folder }: { id: string; status: Status; folder: string }) {
  const queries = useQueryClient();
  const found = useQuery({
    queryKey: ["trust", id, status],
    queryFn: () => allow.trust(id),
    placeholderData: (before) => before,
  });
  const decide = useMutation({
    mutationFn: ([what, decision]: [Provided, Decision]) => allow.decide(id, what.fingerprint, decision),
    onSuccess: (_, [what, decision]) => {
      usePreferences.setState(({ decisions }) => ({
        decisions: [...decisions, { ...what, conversation: id, decision }].slice(-MAX_DECIDED),
      }));
      return queries.invalidateQueries({ queryKey: ["trust", id] });
    },
  });
  const undecided = found.data?.undecided ?? [];
  if (undecided.length === 0) return null;
  return (
    <section className="confirm" aria-label={t("May the project do this?")}>
      <h2>{t("This project brings something along that runs commands. May it?")}</h2>
      <ul tabIndex={0} aria-label={t("Brought along")}>
        {undecided.map((what) => (
          <li key={what.fingerprint}>
            <div className="row">
              <span className="list-title">
                <code>{visibleControls(what.path)}</code> <span className="hint">{providedWords()[what.kind]}</span>
              </span>
              <button disabled={decide.isPending} onClick={() => decide.mutate([what, "allow"])}>
                {t("Allow")}
              </button>
              <button disabled={decide.isPending} onClick={() => decide.mutate([what, "deny"])}>
                {t("Never")}
              </button>
            </div>
            <Text id={id} path={`${folder}/${what.path}`} title={t("What is in it")} />
            {what.scripts?.map((script) => (
              <Text key={script} id={id} path={`${folder}/${script}`} title={t("What it runs: {file}", { file: visibleControls(script) })} />
            ))}
          </li>
        ))}
      </ul>
      <p className="hint">{t("It counts from the next run on; if one of these files changes, you are asked again.")}</p>
      {decide.isError && (
        <p role="alert" className="problem">
          {decide.error.message}
        </p>
      )}
    </section>
  );
}

/** What stands in a file, for who wants to read it first. */
function Text({ id, path, title }: { id: string; path: string; title: string }) {
  const [isOpen, setOpen] = useState(false);
  const text = useQuery({
    queryKey: ["files", id, "text", path],
    queryFn: async () => (await workspace.read(id, path)).text(),
    enabled: isOpen,
  });
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      <pre className="output" tabIndex={0}>
        {text.error?.message ?? visibleInFile(text.data ?? "")}
      </pre>
    </details>
  );
}
