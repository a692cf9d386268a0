import { useQueryClient } from "@tanstack/react-query";
import { Suspense, useEffect } from "react";
import { useKey } from "./key";
import { isKey } from "./keys";
import { lazily } from "./lazily";
import { Conversation } from "./parts/Conversation";
import { Guard } from "./parts/Guard";
import { KeyForm } from "./parts/KeyForm";
import { LazyDialog } from "./parts/LazyDialog";
import { NewConversation } from "./parts/NewConversation";
import { Sidebar } from "./parts/Sidebar";
import { SHARED_PATH, useRoute } from "./route";
import { useScreen } from "./screen";
import { t } from "./words";

const Palette = lazily(() => import("./parts/Palette"));
const Settings = lazily(() => import("./settings/Settings"));
const Keys = lazily(() => import("./parts/Keys"));
const SharedPage = lazily(() => import("./parts/SharedPage"));

const closeDialog = () => useScreen.setState({ dialog: null });

export function App() {
  const key = useKey((state) => state.key);
  const conversation = useRoute();
  const queries = useQueryClient();
  const dialog = useScreen((screen) => screen.dialog);
  const isSidebarOpen = useScreen((screen) => screen.isSidebarOpen);

  useEffect(() => void queries.invalidateQueries(), [key, queries]); // another key, other answers
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const opened = isKey(event, "palette") ? "palette" : isKey(event, "keys") || isKey(event, "help") ? "keys" : null;
      if (opened) {
        event.preventDefault();
        useScreen.setState({ dialog: opened });
      } else if (event.key === "Escape" && !document.querySelector("dialog[open], :popover-open")) {
        useScreen.setState({ isSidebarOpen: false });
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  useEffect(() => useScreen.setState({ isSidebarOpen: false, isReplayed: false, rewindTo: null }), [conversation]);
  useEffect(() => {
    if (!conversation) document.title = "Deft";
  }, [conversation]);

  if (location.pathname === SHARED_PATH) {
    return (
      <Guard>
        <Suspense>
          <SharedPage />
        </Suspense>
      </Guard>
    );
  }
  if (!key) return <KeyForm />;
  return (
    <div className={isSidebarOpen ? "app with-sidebar" : "app"}>
      <a className="skip" href="#main">
        {t("Skip to the conversation")}
      </a>
      <Sidebar current={conversation} />
      {isSidebarOpen && <div className="veil" onClick={() => useScreen.setState({ isSidebarOpen: false })} />}
      {conversation ? <Conversation key={conversation} id={conversation} /> : <NewConversation />}
      {dialog && (
        <LazyDialog key={dialog} onClose={closeDialog}>
          {dialog === "palette" && <Palette />}
          {dialog === "settings" && <Settings />}
          {dialog === "keys" && <Keys />}
        </LazyDialog>
      )}
    </div>
  );
}
