import { useMutation } from "@tanstack/react-query";
import { Undo2 } from "lucide-react";
import { api } from "../api";
import { SPENT, spentOf, useBudget } from "../budget";
import { useDesk, useDeskIfAny } from "../desk";
import { AddBudget } from "../parts/AddBudget";
import { OtherModel } from "../parts/OtherModel";
import { CopyButton } from "../parts/CopyButton";
import type { Item } from "../view";
import { t } from "../words";
import { plain } from "../plain";
import { useScreen } from "../screen";

const advice = (): Record<string, string> => ({
  auth: t("The provider did not accept the key. Enter another one, or set it where the server runs."),
  quota: t("Nothing is left to spend with the provider. Add credit, or choose another model."),
  rate_limit: t("The provider is asked too often. Wait a little and try again."),
  config: t("A setting of the model is wrong. Correct it and go on."),
  transient: t("The network or the provider failed for the moment. Try again."),
  internal: t("This is a fault of the server or its machine. Its log says more."),
});

const names = (): Record<string, string> => ({
  AgentStuckInLoop: t("Going in circles"),
  [SPENT]: t("The budget is used up."),
});

/** What went wrong, and what to do about it. */
export function FailureCard({ failure, isLast }: { failure: Item & { type: "failure" }; isLast: boolean }) {
  const { code, text, classification } = failure;
  const canAct = useDeskIfAny() !== null;
  const words = names()[code] ?? (classification ? advice()[classification.kind] : undefined);
  const isOfModel = classification && classification.kind !== "internal" && code !== "WorkspaceError" && !names()[code];
  const name = code || t("Error");
  return (
    <article className="failure" aria-label={t("Error")}>
      <p>
        <strong>{words ?? name}</strong>
      </p>
      <pre className="output" tabIndex={0}>{plain(text)}</pre>
      {canAct && isLast && code === SPENT && <MoreBudget />}
      {canAct && isLast && isOfModel && <OtherModel isOpen={classification?.user_action === "settings"} />}
      {canAct && isLast && (
        <div className="row">
          {classification?.user_action === "settings" && (
            <button onClick={() => useScreen.setState({ dialog: "settings" })}>{t("Settings")}</button>
          )}
          {failure.rewindTo && <RewindButton to={failure.rewindTo} />}
          <CopyButton text={() => `${code}\n${text}`} />
        </div>
      )}
      {words && <p className="hint">{name}</p>}
    </article>
  );
}

/** Goes back to before the agent began to go in circles. Files stay: the turn's work from before it is in them, too. */
function RewindButton({ to }: { to: string }) {
  const { id, complain } = useDesk();
  const rewind = useMutation({ mutationFn: () => api.navigate(id, to), onError: complain });
  return (
    <button disabled={rewind.isPending} title={t("The files stay as they are")} onClick={() => rewind.mutate()}>
      <Undo2 /> {t("Rewind to before the circle")}
    </button>
  );
}

/** More of what the conversation has used up, if it was its own budget. */
function MoreBudget() {
  const { id } = useDesk();
  const budget = useBudget(id).data;
  const spent = budget && spentOf(budget);
  return spent ? <AddBudget key={spent} id={id} kind={spent} then="go on" /> : null;
}
