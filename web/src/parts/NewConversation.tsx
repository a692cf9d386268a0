import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Start } from "../api";
import { usePreferences } from "../preferences";
import { go } from "../route";
import { ModelFields } from "./ModelFields";
import { SidebarButton } from "./SidebarButton";

/** Begins a conversation, or the demo. */
export function NewConversation() {
  const queries = useQueryClient();
  const offer = useQuery({ queryKey: ["offer"], queryFn: api.offer, staleTime: Infinity });
  const preferences = usePreferences();
  const [message, setMessage] = useState("");
  const start = useMutation({
    mutationFn: async (start: Start | "demo") => {
      if (start !== "demo") return api.start(start);
      const { folder, task } = await api.demo();
      return api.start({ model: "demo", folder, message: task, policy: "never", apiKey: "", baseUrl: "" });
    },
    onSuccess: (conversation) => {
      void queries.invalidateQueries({ queryKey: ["conversations"] });
      go(conversation.id);
    },
  });
  const model = preferences.model || offer.data?.model || "";
  const folder = preferences.folder || offer.data?.folder || "";
  const hasModel = model !== "";
  const demo = (
    <section className="demo" aria-label="Demo">
      <p>
        {hasModel
          ? "Or watch the built-in demo repair a small project. It needs no model and costs nothing."
          : "No model is set up yet. See how it works first: the built-in demo repairs a small project in a few seconds. It needs no key and costs nothing."}
      </p>
      <button className={hasModel ? "" : "primary"} disabled={start.isPending} onClick={() => start.mutate("demo")}>
        Try the demo
      </button>
    </section>
  );
  return (
    <main id="main" className="main new">
      <header className="bar">
        <SidebarButton />
      </header>
      <div className="new-body">
        <h1>What shall be done?</h1>
        {offer.isSuccess && !hasModel && demo}
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const { policy, apiKey, baseUrl } = preferences;
            start.mutate({ model, folder, message: message.trim(), policy, apiKey, baseUrl });
          }}
        >
          <label>
            Task
            <textarea
              rows={4}
              autoFocus
              value={message}
              placeholder="Find out why the tests fail, and repair it."
              onChange={(event) => setMessage(event.target.value)}
              onKeyDown={(event) => {
                if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) event.currentTarget.form?.requestSubmit();
              }}
            />
          </label>
          <label>
            Folder
            <input required value={folder} onChange={(event) => usePreferences.setState({ folder: event.target.value })} />
          </label>
          <ModelFields offer={offer.data} />
          {(start.isError || offer.isError) && (
            <p role="alert" className="problem">
              {(start.error ?? offer.error)?.message}
            </p>
          )}
          <button className="primary" disabled={start.isPending || !message.trim() || !hasModel}>
            {start.isPending ? "Starting…" : "Start"}
          </button>
        </form>
        {offer.isSuccess && hasModel && demo}
      </div>
    </main>
  );
}
