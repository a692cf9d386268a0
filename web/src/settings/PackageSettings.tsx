import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { visibleControls } from "../plain";
import { t } from "../words";
import { EntryForm, RemoveButton } from "./EntryForm";
import { type PackageKind, packages } from "./packages";

/** Packages of one kind: installed from a source, switched off and on, brought up to date, removed. */
export function PackageSettings({ kind, title }: { kind: PackageKind; title: string }) {
  const queryKey = ["packages", kind];
  const installed = useQuery({ queryKey, queryFn: () => packages.list(kind) });
  const queries = useQueryClient();
  const onSuccess = async () => {
    await queries.invalidateQueries({ queryKey });
    await queries.invalidateQueries({ queryKey: ["skills"] });
  };
  const toggle = useMutation({
    mutationFn: ([name, enabled]: [string, boolean]) => packages.enable(kind, name, enabled),
    onSuccess,
  });
  const refresh = useMutation({ mutationFn: (name: string) => packages.refresh(kind, name), onSuccess });
  const remove = useMutation({ mutationFn: (name: string) => packages.remove(kind, name), onSuccess });
  const all = installed.data ?? [];
  return (
    <fieldset>
      <legend>{title}</legend>
      {installed.isSuccess && all.length === 0 && <p className="hint">{t("There are none yet.")}</p>}
      <ul className="list">
        {all.map(({ name, description, enabled, source, version }) => (
          <li key={name}>
            <div className="row">
              <label className="inline list-title">
                <input
                  type="checkbox"
                  checked={enabled !== false}
                  onChange={(event) => toggle.mutate([name, event.target.checked])}
                />
                <strong>{visibleControls(name)}</strong> <span className="hint">{visibleControls([version, description].filter(Boolean).join(" · "))}</span>
              </label>
              <button
                disabled={refresh.isPending}
                aria-label={t("Update {name}", { name })}
                onClick={() => refresh.mutate(name)}
              >
                {t("Update")}
              </button>
              <RemoveButton name={name} onRemove={remove.mutate} />
            </div>
            <p className="hint">
              {t("from")} <code>{visibleControls(source)}</code>
            </p>
          </li>
        ))}
      </ul>
      <EntryForm
        fields={[
          { name: "source", label: t("Source"), required: true, placeholder: t("github:owner/repository or /a/folder") },
          { name: "path", label: t("Folder in it") },
        ]}
        word={t("Install")}
        onSave={({ source = "", path = "" }) => packages.install(kind, source, path).then(onSuccess)}
        problem={toggle.error ?? refresh.error ?? remove.error ?? installed.error}
      />
    </fieldset>
  );
}
