import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent } from "react";
import { KINDS, kindWords, usualBudget } from "../budget";
import { t } from "../words";
import { server } from "./server";

/** How agents of new conversations work: their memory, their instructions and their limits. */
export function AgentSettings() {
  const settings = useQuery({ queryKey: ["settings"], queryFn: server.settings });
  const queries = useQueryClient();
  const save = useMutation({
    mutationFn: async (form: FormData) => {
      const text = (name: string) => String(form.get(name) ?? "");
      await server.changeAgent({
        condenser: { enabled: form.has("condenser"), max_size: Number(text("size")) },
        agent_context: { system_message_suffix: text("suffix").trim() || null },
      });
      await server.changeConversations({ max_iterations: Number(text("steps")) });
      const limits = KINDS.map((kind) => [kind, text(kind) === "" ? null : Number(text(kind))] as const);
      await server.changeUsualBudget(Object.fromEntries(limits));
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ["settings"] }),
  });
  if (!settings.data) {
    return settings.isError ? (
      <p role="alert" className="problem">
        {settings.error.message}
      </p>
    ) : (
      <p className="hint">{t("Loading…")}</p>
    );
  }
  const { agent_settings: agent, conversation_settings: conversation } = settings.data;
  const budget = usualBudget(settings.data);
  return (
    <form
      onSubmit={(event: FormEvent<HTMLFormElement>) => {
        event.preventDefault();
        save.mutate(new FormData(event.currentTarget));
      }}
    >
      <label>
        {t("Instructions for every new conversation")}
        <textarea name="suffix" rows={4} defaultValue={agent.agent_context.system_message_suffix ?? ""} />
      </label>
      <label className="inline">
        <input type="checkbox" name="condenser" defaultChecked={agent.condenser.enabled} />
        {t("Summarise earlier steps when there is no more room")}
      </label>
      <div className="columns">
        <label>
          {t("Summarise after this many events at the latest")}
          <input type="number" name="size" min={20} max={10_000} defaultValue={agent.condenser.max_size} />
        </label>
        <label>
          {t("Most steps in one run")}
          <input type="number" name="steps" min={1} max={100_000} defaultValue={conversation.max_iterations} />
        </label>
      </div>
      <fieldset>
        <legend>{t("Budget of each new conversation")}</legend>
        <p className="hint">{t("What is left empty is not limited. In the conversation it can be changed at any time.")}</p>
        <div className="columns">
          {KINDS.map((kind) => (
            <label key={kind}>
              {t("At most: {what}", { what: kindWords()[kind] })}
              <input type="number" name={kind} min={0} step={kind === "cost" ? "any" : 1} defaultValue={budget[kind] ?? ""} />
            </label>
          ))}
        </div>
      </fieldset>
      {save.isError && (
        <p role="alert" className="problem">
          {save.error.message}
        </p>
      )}
      <div className="row end">
        {save.isSuccess && <span role="status">{t("Saved.")}</span>}
        <button className="primary" disabled={save.isPending}>
          {t("Save")}
        </button>
      </div>
    </form>
  );
}
