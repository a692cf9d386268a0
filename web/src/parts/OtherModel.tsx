import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api";
import { useDesk } from "../desk";
import { otherLlm } from "../llm";
import { t } from "../words";

/** Goes on with another model, key or address where the one that a conversation has does not answer. */
export function OtherModel({ isOpen }: { isOpen: boolean }) {
  const { id } = useDesk();
  const info = useQuery({ queryKey: ["conversation", id], queryFn: () => api.get(id), retry: false });
  const agent = info.data?.agent;
  const llm = agent?.["kind"] === "ACPAgent" ? undefined : agent?.llm;
  const [changed, setChanged] = useState<{ model?: string; apiKey?: string; baseUrl?: string }>({});
  const goOn = useMutation({
    mutationFn: async () => {
      await api.switchModel(id, otherLlm(llm ?? {}, changed));
      await api.run(id);
    },
  });
  if (!llm) return null; // a program that chooses its model itself
  const field = (name: keyof typeof changed) => ({
    onChange: (event: { target: { value: string } }) => setChanged({ ...changed, [name]: event.target.value }),
  });
  return (
    <details className="more" open={isOpen}>
      <summary>{t("Another model, key or address")}</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          goOn.mutate();
        }}
      >
        <label>
          {t("Model")}
          <input required value={changed.model ?? String(llm["model"] ?? "")} {...field("model")} />
        </label>
        <label>
          {t("Key")}
          <input type="password" autoComplete="off" value={changed.apiKey ?? ""} {...field("apiKey")} />
        </label>
        <label>
          {t("Address")}
          <input type="url" value={changed.baseUrl ?? String(llm["base_url"] ?? "")} {...field("baseUrl")} />
        </label>
        <p className="hint">{t("The key is stored encrypted with this conversation. Without one, the server’s own is used.")}</p>
        {goOn.isError && (
          <p role="alert" className="problem">
            {goOn.error.message}
          </p>
        )}
        <div className="row end">
          <button className="primary" disabled={goOn.isPending}>
            {t("Go on with it")}
          </button>
        </div>
      </form>
    </details>
  );
}
