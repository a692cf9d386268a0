import { useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useEffect } from "react";
import { useKey } from "./key";
import { Conversation } from "./parts/Conversation";
import { KeyForm } from "./parts/KeyForm";
import { NewConversation } from "./parts/NewConversation";
import { Sidebar } from "./parts/Sidebar";
import { SHARED_PATH, useRoute } from "./route";
import { useScreen } from "./screen";
import { t } from "./words";

const Palette = lazy(() => import("./parts/Palette"));
const Settings = lazy(() => import("./settings/Settings"));
const Keys = lazy(() => import("./parts/Keys"));
const SharedPage = lazy(() => import("./parts/SharedPage"));

const isWriting = (target: EventTarget | null) =>
  target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;

export function App() {
  const key = useKey((state) => state.key);
  const conversation = useRoute();
  const queries = useQueryClient();
  const dialog = useScreen((screen) => screen.dialog);
  const isSidebarOpen = useScreen((screen) => screen.isSidebarOpen);

  useEffect(() => void queries.invalidateQueries(), [key, queries]); // another key, other answers
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        useScreen.setState({ dialog: "palette" });
      } else if (event.key === "?" && !isWriting(event.target)) {
        useScreen.setState({ dialog: "keys" });
      } else if (event.key === "Escape") {
        useScreen.setState({ isSidebarOpen: false });
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  useEffect(() => useScreen.setState({ isSidebarOpen: false }), [conversation]);
  useEffect(() => {
    if (!conversation) document.title = "Deft";
  }, [conversation]);

  if (location.pathname === SHARED_PATH) {
    return (
      <Suspense>
        <SharedPage />
      </Suspense>
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
      <Suspense>
        {dialog === "palette" && <Palette />}
        {dialog === "settings" && <Settings />}
        {dialog === "keys" && <Keys />}
      </Suspense>
    </div>
  );
}
