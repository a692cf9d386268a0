import { useMutation } from "@tanstack/react-query";
import { type InputHTMLAttributes, type ReactNode, useState } from "react";
import { t } from "../words";

export interface Field extends InputHTMLAttributes<HTMLInputElement> {
  name: string;
  label: string;
}

interface Props {
  fields: Field[];
  /** What the button says. */
  word: string;
  /** Keeps what was entered; the fields are empty then. */
  onSave: (values: Record<string, string>) => Promise<unknown>;
  /** What else went wrong. */
  problem: Error | null;
  children?: ReactNode;
}

/** Fields for one thing that is kept on the server under a name. */
export function EntryForm({ fields, word, onSave, problem, children }: Props) {
  const [values, setValues] = useState<Record<string, string>>({});
  const save = useMutation({
    mutationFn: () => onSave(Object.fromEntries(fields.map(({ name, type }) => [name, tidy(type, values[name] ?? "")]))),
    onSuccess: () => setValues({}),
  });
  const failure = save.error ?? problem;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <div className="columns">
        {fields.map(({ name, label, ...rest }) => (
          <label key={name}>
            {label}
            <input
              {...rest}
              autoComplete="off"
              value={values[name] ?? ""}
              onChange={(event) => setValues({ ...values, [name]: event.target.value })}
            />
          </label>
        ))}
        {children}
      </div>
      {failure && (
        <p role="alert" className="problem">
          {failure.message}
        </p>
      )}
      <div className="row end">
        <button className="primary" disabled={save.isPending}>
          {word}
        </button>
      </div>
    </form>
  );
}

/** What was entered, without spaces around it; in a secret they may have a meaning. */
const tidy = (type: string | undefined, text: string) => (type === "password" ? text : text.trim());

/** The button that takes such a thing away. */
export function RemoveButton({ name, onRemove }: { name: string; onRemove: (name: string) => void }) {
  return (
    <button aria-label={t("Remove {name}", { name })} onClick={() => onRemove(name)}>
      {t("Remove")}
    </button>
  );
}
