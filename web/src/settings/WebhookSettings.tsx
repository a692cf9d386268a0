import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ago } from "../ago";
import { t } from "../words";
import { EntryForm, RemoveButton } from "./EntryForm";
import { server, type Webhook, type WebhookFields } from "./server";

/** Who is told of all that happens, and whether it arrives. */
export function WebhookSettings() {
  const found = useQuery({ queryKey: ["webhooks"], queryFn: server.webhooks, refetchInterval: 5_000 });
  const queries = useQueryClient();
  const renew = () => queries.invalidateQueries({ queryKey: ["webhooks"] });
  return (
    <>
      <p className="hint">{t("Each gets a POST request for everything that happens in conversations, again until it arrives.")}</p>
      <ul className="list">
        {found.data?.webhooks.map((hook) => (
          <Entry key={hook.id} hook={hook} onChange={renew} />
        ))}
      </ul>
      {found.data?.webhooks.length === 0 && <p className="hint">{t("There are none yet.")}</p>}
      <EntryForm
        fields={fieldsFor(null)}
        word={t("Add")}
        onSave={(values) => server.addWebhook({ base_url: "", ...fieldsOf(values) }).then(renew)}
        problem={found.error}
      />
    </>
  );
}

function Entry({ hook, onChange }: { hook: Webhook; onChange: () => Promise<void> }) {
  const [isChanging, setChanging] = useState(false);
  const onSuccess = onChange;
  const test = useMutation({ mutationFn: () => server.testWebhook(hook.id) });
  const remove = useMutation({ mutationFn: () => server.removeWebhook(hook.id), onSuccess });
  return (
    <li>
      <div className="row">
        <code className="list-title">{hook.base_url}</code>
        <button disabled={test.isPending} onClick={() => test.mutate()} aria-label={t("Test {name}", { name: hook.base_url })}>
          {t("Test")}
        </button>
        {!hook.is_configured && (
          <>
            <button aria-expanded={isChanging} aria-label={t("Change {name}", { name: hook.base_url })} onClick={() => setChanging(!isChanging)}>
              {t("Change")}
            </button>
            <RemoveButton name={hook.base_url} onRemove={() => remove.mutate()} />
          </>
        )}
      </div>
      <p className="hint">
        {[
          t("{n} delivered, {failed} attempts failed, {waiting} conversations wait", {
            n: hook.delivered,
            failed: hook.failed_attempts,
            waiting: hook.waiting_conversations,
          }),
          hook.last_delivery && t("last {when}", { when: ago(hook.last_delivery, Date.now()) }),
          hook.is_signed && t("signed"),
          hook.headers.length > 0 && t("with {headers}", { headers: hook.headers.join(", ") }),
          hook.is_configured && t("set up where the server is started"),
        ]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {test.data && (
        <p role="status" className={test.data.ok ? "good" : "problem"}>
          {test.data.ok
            ? t("It answers, in {ms} ms.", { ms: test.data.milliseconds })
            : t("It does not take the request: {reason}", { reason: test.data.detail })}
        </p>
      )}
      {hook.waiting.map(
        ({ conversation_id, last_error }) =>
          last_error && (
            <p key={conversation_id} className="problem">
              {last_error}
            </p>
          ),
      )}
      {hook.dead_letter_count > 0 && <DeadLetters hook={hook} onChange={onChange} />}
      {(test.error ?? remove.error) && (
        <p role="alert" className="problem">
          {(test.error ?? remove.error)?.message}
        </p>
      )}
      {isChanging && (
        <EntryForm
          fields={fieldsFor(hook)}
          word={t("Save")}
          onSave={(values) => server.changeWebhook(hook.id, fieldsOf(values)).then(onChange).then(() => setChanging(false))}
          problem={null}
        />
      )}
    </li>
  );
}

/** What was given up, and why. */
function DeadLetters({ hook, onChange }: { hook: Webhook; onChange: () => Promise<void> }) {
  const again = useMutation({ mutationFn: () => server.redeliver(hook.id), onSuccess: onChange });
  const forget = useMutation({ mutationFn: () => server.forgetDeadLetters(hook.id), onSuccess: onChange });
  const problem = again.error ?? forget.error;
  return (
    <details className="more">
      <summary>{t("{n} requests were given up", { n: hook.dead_letter_count })}</summary>
      <ul className="list">
        {hook.dead_letters.map(({ id, path, attempts, last_error }) => (
          <li key={id}>
            <code>{path}</code>
            <p className="problem">{t("{reason} (attempts: {n})", { reason: last_error, n: attempts })}</p>
          </li>
        ))}
      </ul>
      {problem && (
        <p role="alert" className="problem">
          {problem.message}
        </p>
      )}
      <div className="row end">
        <button disabled={forget.isPending} onClick={() => forget.mutate()}>
          {t("Forget them")}
        </button>
        <button className="primary" disabled={again.isPending} onClick={() => again.mutate()}>
          {t("Try {n} once more", { n: hook.dead_letter_count })}
        </button>
      </div>
    </details>
  );
}

/** The fields of a new one, or of one that is changed: there, what is left empty stays. */
function fieldsFor(hook: Webhook | null) {
  const stays = hook ? { placeholder: t("unchanged") } : {};
  return [
    { name: "base_url", label: t("Address"), type: "url", required: !hook, placeholder: hook?.base_url ?? "https://example.org/hook" },
    { name: "secret", label: t("Secret that signs requests"), type: "password", ...stays },
    { name: "header", label: t("Header to send along"), type: "password", placeholder: hook ? t("unchanged") : "Authorization: Bearer …" },
  ];
}

/** What was entered, as the server takes it. */
export function fieldsOf({ base_url = "", secret = "", header = "" }: Record<string, string>): WebhookFields {
  const [name = "", ...rest] = header.split(":");
  if (header && (!name.trim() || rest.length === 0)) throw new Error(t("Write a header as a name, a colon and a value"));
  return {
    ...(base_url && { base_url }),
    ...(secret && { secret }),
    ...(header && { headers: { [name.trim()]: rest.join(":").trim() } }),
  };
}
