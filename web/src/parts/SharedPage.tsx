import { useQuery } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { lazily } from "../lazily";
import { shares } from "../shares";
import { sharedSource } from "../source";
import { Stream } from "../stream";
import { t } from "../words";
import { Guard } from "./Guard";
import { Meters } from "./Meters";
import { StatusMark } from "./StatusMark";
import { Timeline } from "./Timeline";

const Replay = lazily(() => import("./Replay"));

/** A conversation as whoever has a link to it sees it: to read and to follow. */
export default function SharedPage() {
  const [token] = useState(() => location.hash.slice(1));
  const [stream] = useState(() => new Stream(sharedSource(token)));
  const [isReplayed, setReplayed] = useState(false);
  const { view, link } = useSyncExternalStore(stream.subscribe, stream.current);
  const info = useQuery({ queryKey: ["shared", token], queryFn: () => shares.open(token), retry: false });
  const title = info.data?.title ?? t("Conversation");
  useEffect(() => {
    document.title = `${title} · Deft`;
  }, [title]);
  if (link === "gone" || info.isError) {
    return (
      <main id="main" className="key-form">
        <h1>Deft</h1>
        <p role="alert">
          {t("This link opens nothing (any more). Ask whoever gave it to you for another one.")}
        </p>
      </main>
    );
  }
  return (
    <div className="app shared">
      <main id="main" className="main">
        <header className="bar">
          <div className="bar-title">
            <h1 title={title} dir="auto">
              {title}
            </h1>
            <span className="facts">
              <span role="status" aria-live="polite">
                {view.isCurrent && <StatusMark status={view.status} />}
              </span>
              <span>{t("Shared to read")}</span>
            </span>
          </div>
          {view.isCurrent && <Meters meter={view.meter} />}
          <div className="row controls">
            <button aria-pressed={isReplayed} onClick={() => setReplayed(!isReplayed)}>
              <Play /> {t("Step by step")}
            </button>
          </div>
        </header>
        {link === "lost" && (
          <p className="banner" role="status">
            {t("The connection is lost. Reconnecting…")}
          </p>
        )}
        <div className="work">
          <section className="chat" aria-label={t("What happened")}>
            {isReplayed ? (
              <Guard>
                <Suspense>
                  <Replay view={view} stream={stream} onClose={() => setReplayed(false)} />
                </Suspense>
              </Guard>
            ) : (
              <Timeline view={view} stream={stream} onSettle={() => {}} />
            )}
          </section>
        </div>
      </main>
    </div>
  );
}
