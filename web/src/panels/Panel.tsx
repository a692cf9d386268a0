import { X } from "lucide-react";
import { type KeyboardEvent, Suspense, useEffect } from "react";
import { useFocusBack } from "../focus-back";
import { lazily } from "../lazily";
import { Guard } from "../parts/Guard";
import { usePreferences } from "../preferences";
import { PANELS, type PanelName, panelWords, showPanel, useScreen } from "../screen";
import { stepTo } from "../steps";
import type { View } from "../view";
import { t } from "../words";

const ChangesPanel = lazily(() => import("./ChangesPanel"));
const FilesPanel = lazily(() => import("./FilesPanel"));
const TerminalPanel = lazily(() => import("./TerminalPanel"));
const TasksPanel = lazily(() => import("./TasksPanel"));
const BrowserPanel = lazily(() => import("./BrowserPanel"));
const ContextPanel = lazily(() => import("./ContextPanel"));
const PreviewPanel = lazily(() => import("./PreviewPanel"));

interface Props {
  id: string;
  view: View;
  name: PanelName;
  onSend: (text: string, images: string[]) => Promise<void>;
}

/** What there is beside the talk: one thing at a time. */
export default function Panel({ id, view, name, onSend }: Props) {
  useFocusBack();
  useEffect(() => void usePreferences.setState({ panel: name }), [name]);
  const words = panelWords();
  const move = (event: KeyboardEvent) => {
    const next = PANELS[stepTo(event.key, PANELS.indexOf(name), PANELS.length) ?? -1];
    if (!next) return;
    event.preventDefault();
    showPanel(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <aside className="panel" aria-label={words[name]}>
      <div className="panel-head">
        <div
          className="tabs"
          role="tablist"
          aria-label={t("Panels")}
          onKeyDown={move}
        >
          {PANELS.map((each) => (
            <button
              key={each}
              id={`tab-${each}`}
              role="tab"
              aria-selected={each === name}
              aria-controls="panel-body"
              tabIndex={each === name ? 0 : -1}
              onClick={() => showPanel(each)}
            >
              {words[each]}
            </button>
          ))}
        </div>
        <button className="quiet" aria-label={t("Close the panel")} onClick={() => useScreen.setState({ panel: null })}>
          <X />
        </button>
      </div>
      <div className="panel-body" id="panel-body" role="tabpanel" aria-labelledby={`tab-${name}`} tabIndex={0}>
        <Guard key={name}>
          <Suspense fallback={<p className="hint">{t("Loading…")}</p>}>{content()}</Suspense>
        </Guard>
      </div>
    </aside>
  );

  function content() {
    switch (name) {
      case "changes":
        return <ChangesPanel id={id} view={view} onSend={onSend} />;
      case "files":
        return <FilesPanel id={id} view={view} />;
      case "terminal":
        return <TerminalPanel id={id} view={view} />;
      case "tasks":
        return <TasksPanel id={id} view={view} />;
      case "browser":
        return <BrowserPanel id={id} view={view} />;
      case "context":
        return <ContextPanel id={id} view={view} />;
      case "preview":
        return <PreviewPanel id={id} />;
    }
  }
}
