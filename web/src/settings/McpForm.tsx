import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { t } from "../words";
import { configOf, isAddress } from "./mcp-config";
import { server } from "./server";

const EMPTY = { name: "", target: "", more: "" };

/** Names a server. Values of variables and headers go in and never come out here. */
export function McpForm({ onSaved }: { onSaved: () => void }) {
  const [written, setWritten] = useState(EMPTY);
  const change = (field: keyof typeof EMPTY) => (event: { target: { value: string } }) =>
    setWritten({ ...written, [field]: event.target.value });
  const save = useMutation({
    mutationFn: async () => server.addServer(written.name.trim(), configOf(written)),
    onSuccess: () => {
      setWritten(EMPTY);
      onSaved();
    },
  });
  const isRemote = isAddress(written.target);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <div className="columns">
        <label>
          {t("Name")}
          <input required autoComplete="off" value={written.name} onChange={change("name")} />
        </label>
        <label>
          {t("Address, or program and arguments")}
          <input
            required
            autoComplete="off"
            spellCheck={false}
            placeholder={t("https://… or npx -y …")}
            value={written.target}
            onChange={change("target")}
          />
        </label>
      </div>
      <label>
        {isRemote ? t("Headers, one per line") : t("Variables, one per line")}
        <textarea
          rows={2}
          autoComplete="off"
          spellCheck={false}
          placeholder={isRemote ? "X-Key: …" : "NAME=…"}
          value={written.more}
          onChange={change("more")}
        />
      </label>
      {save.isError && (
        <p role="alert" className="problem">
          {save.error.message}
        </p>
      )}
      <div className="row end">
        <button className="primary" disabled={save.isPending}>
          {t("Add")}
        </button>
      </div>
    </form>
  );
}
