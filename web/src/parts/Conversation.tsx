import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { api } from "../api";
import { openCalls, type Unsent } from "../fold";
import { useScreen } from "../screen";
import { Stream } from "../stream";
import { Composer } from "./Composer";
import { Confirm } from "./Confirm";
import { Meters } from "./Meters";
import { nameOf } from "./Sidebar";
import { SidebarButton } from "./SidebarButton";
import { STATUS_WORDS, StatusMark } from "./StatusMark";
import { Timeline } from "./Timeline";

const Panel = lazy(() => import("./Panel"));

/** One conversation: what happened, what is being done, and how to steer it. */
export default function Conversation({ id }: { id: string }) {
  const [stream] = useState(() => new Stream(id));
  const { view, link } = useSyncExternalStore(stream.subscribe, stream.current);
  const queries = useQueryClient();
  const isPanelOpen = useScreen((screen) => screen.isPanelOpen);
  const info = useQuery({ queryKey: ["conversation", id], queryFn: () => api.get(id), retry: false });
  const { status } = view;
  const title = info.data ? nameOf(info.data) : "Conversation";

  useEffect(() => {
    document.title = `${status === "running" ? "" : `${STATUS_WORDS[status]}: `}${title} · Deft`;
    void queries.invalidateQueries({ queryKey: ["conversations"] });
    void queries.invalidateQueries({ queryKey: ["conversation", id] });
  }, [id, status, title, queries]);

  const order = useMutation({
    mutationFn: (what: "run" | "pause" | "stop") => api[what](id),
  });
  const isBusy = status === "running";

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key === "." && isBusy) order.mutate("stop");
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [isBusy, order]);

  const send = async (text: string, images: string[]) => {
    const key = stream.fold.sending(text, images);
    stream.changed();
    try {
      await api.send(id, text, images);
    } catch (error) {
      stream.fold.unsent(key, error instanceof Error ? error.message : String(error));
      stream.changed();
    }
  };
  const settle = ({ key, text, images }: Unsent, what: "again" | "discard") => {
    stream.fold.unsent(key, null);
    stream.changed();
    if (what === "again") void send(text, images);
  };

  if (link === "gone") {
    return (
      <main id="main" className="main">
        <header className="bar">
          <SidebarButton />
        </header>
        <p className="hint">This conversation does not exist (any more).</p>
      </main>
    );
  }
  return (
    <main id="main" className={isPanelOpen ? "main with-panel" : "main"}>
      <header className="bar">
        <SidebarButton />
        <div className="bar-title">
          <h1 title={title}>{title}</h1>
          <span className="facts">
            <span role="status" aria-live="polite">
              <StatusMark status={status} />
            </span>
            <span className="model" title={view.model}>
              {view.model}
            </span>
            <span className="folder" title={view.folder}>
              {view.folder}
            </span>
          </span>
        </div>
        <Meters meter={view.meter} />
        <div className="row controls">
          {isBusy && (
            <>
              <button onClick={() => order.mutate("pause")} title="Stop after the step under way">
                Pause
              </button>
              <button className="danger" onClick={() => order.mutate("stop")} title="Stop now (Ctrl+. or ⌘.)">
                Stop
              </button>
            </>
          )}
          {(status === "paused" || status === "error" || status === "stuck") && (
            <button className="primary" onClick={() => order.mutate("run")}>
              {status === "paused" ? "Go on" : "Try again"}
            </button>
          )}
          <button
            aria-pressed={isPanelOpen}
            onClick={() => useScreen.setState({ isPanelOpen: !isPanelOpen })}
          >
            Changes{view.changes.length > 0 && ` ${view.changes.length}`}
          </button>
        </div>
      </header>
      {link === "lost" && (
        <p className="banner" role="status">
          The connection is lost. Coming back by itself…
        </p>
      )}
      {order.isError && (
        <p className="banner problem" role="alert">
          {order.error.message}
        </p>
      )}
      <div className="work">
        <section className="chat" aria-label="What happened">
          <Timeline view={view} onSettle={settle} />
          {status === "waiting_for_confirmation" && <Confirm id={id} calls={openCalls(view)} />}
          <Composer id={id} isBusy={isBusy} onSend={send} />
        </section>
        {isPanelOpen && (
          <Suspense>
            <Panel view={view} />
          </Suspense>
        )}
      </div>
    </main>
  );
}
