import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { PanelRight, Pause, Play, RotateCw, Square, SquarePen, X } from "lucide-react";
import { Suspense, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { api } from "../api";
import { SPENT } from "../budget";
import { refreshConversations } from "../conversations";
import { type Desk, DeskContext } from "../desk";
import { draftOf, keepUnsent, unsentOf } from "../drafts";
import { freshId } from "../fresh-id";
import { isKey, panelOf, withChord } from "../keys";
import { lazily } from "../lazily";
import { meterOf } from "../meter";
import { nameOf } from "../name";
import { noteQuestion, noteStatus } from "../notify";
import { plain, unturned } from "../plain";
import { useMode } from "../plan";
import { usePreferences } from "../preferences";
import { canWait, queue, queueKey, useQueue } from "../queue";
import { setRewound, useRewound } from "../rewinding";
import { go } from "../route";
import { LAST, rewind, useScreen } from "../screen";
import { ownSource } from "../source";
import { Stream } from "../stream";
import { openCalls, type Unsent } from "../view";
import { t } from "../words";
import { BudgetMeter } from "./BudgetMeter";
import { Composer } from "./Composer";
import { Confirm } from "./Confirm";
import { Guard } from "./Guard";
import { HostQuestions } from "./HostQuestions";
import { LazyDialog } from "./LazyDialog";
import { Meters } from "./Meters";
import { Plan, PlanButton } from "./Plan";
import { PolicySelect } from "./PolicySelect";
import { ProfileSelect } from "./ProfileSelect";
import { Queue } from "./Queue";
import { SidebarButton } from "./SidebarButton";
import { StatusMark, statusWords } from "./StatusMark";
import { Timeline } from "./Timeline";
import { Trust } from "./Trust";
import { UndoRewind } from "./UndoRewind";

const Panel = lazily(() => import("../panels/Panel"));
const Replay = lazily(() => import("./Replay"));
const Rewind = lazily(() => import("./Rewind"));

/** Follows a conversation, with what was not sent before the page was reloaded: the log tells which of that it has. */
function streamOf(id: string): Stream {
  const stream = new Stream(ownSource(id));
  for (const message of unsentOf(id)) {
    stream.fold.sending(message);
    stream.fold.unsent(message.id, message.failure ?? t("The page was left before the server had it."));
  }
  stream.changed();
  return stream;
}

/** One conversation: what happened, what is being done, and how to steer it. */
export function Conversation({ id }: { id: string }) {
  const [stream] = useState(() => streamOf(id));
  const { view, link } = useSyncExternalStore(stream.subscribe, stream.current);
  const queries = useQueryClient();
  const panel = useScreen((screen) => screen.panel);
  const isReplayed = useScreen((screen) => screen.isReplayed);
  const rewindTo = useScreen((screen) => screen.rewindTo);
  const wayBack = useRewound((rewound) => rewound[id] ?? null);
  const [problem, setProblem] = useState<string | null>(null);
  const composer = useRef<(text: string, images?: string[]) => void>(() => {});
  const info = useQuery({ queryKey: ["conversation", id], queryFn: () => api.get(id), retry: false });
  const { status } = view;
  /** What is known of it before its stream has told the state. */
  const early = view.isCurrent ? undefined : info.data;
  /** Undefined: nothing is known yet, and nothing is said. */
  const known = view.isCurrent ? status : early?.execution_status;
  const title = info.data ? nameOf(info.data) : t("Conversation");

  useEffect(() => keepUnsent(id, view.unsent), [id, view.unsent]);
  useEffect(() => {
    document.title = `${!known || known === "running" ? "" : `${statusWords()[known]}: `}${title} · Deft`;
    if (!view.isCurrent) return; // nothing has changed since it was opened
    refreshConversations(queries, "newest");
    void queries.invalidateQueries({ queryKey: ["conversation", id] });
  }, [id, known, title, view.isCurrent, queries]);
  const last = view.items.at(-1);
  const isSpent = status === "error" && last?.type === "failure" && last.code === SPENT;
  /** Whether the card of what failed says how to go on: the same once more would fail again. */
  const isOfferedBelow = isSpent || (last?.type === "failure" && last.classification?.user_action === "settings");
  useEffect(() => {
    const why = isSpent ? t("has used up its budget") : undefined;
    if (view.isCurrent) noteStatus(id, title, status, undefined, why);
  }, [id, title, status, isSpent, view.isCurrent]);
  const isAskedForHosts = view.hostQuestions.length > 0;
  useEffect(() => {
    if (isAskedForHosts) noteQuestion(id, title);
  }, [id, isAskedForHosts]); // once, whatever it is called

  const order = useMutation({ mutationFn: (what: "run" | "pause" | "stop") => api[what](id) });
  const isBusy = status === "running";
  const mode = useMode(id, status);
  const isSettled = view.isCurrent && !isBusy;
  useEffect(() => {
    if (isBusy) setRewound(id, null); // from here on it would take more back than the rewinding
  }, [id, isBusy]);
  useEffect(() => {
    if (rewindTo !== LAST) return;
    const said = view.items.findLast((item) => item.type === "message" && item.from === "user");
    rewind(isBusy ? null : (said?.id ?? null));
    if (isBusy) setProblem(t("Stop it first"));
  }, [rewindTo, isBusy, view.items]);
  const waiting = useQueue(id, status, (message) => stream.fold.has(message));

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isBusy && isKey(event, "stop")) order.mutate("stop");
      const chosen = panelOf(event);
      if (chosen) {
        event.preventDefault();
        useScreen.setState(({ panel }) => ({ panel: panel === chosen ? null : chosen }));
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [isBusy, order]);

  const desk = useMemo((): Desk => {
    const carry = async (message: Omit<Unsent, "failure">, act: () => Promise<unknown>) => {
      stream.fold.sending(message);
      stream.changed();
      try {
        await act();
      } catch (error) {
        stream.fold.unsent(message.id, error instanceof Error ? error.message : String(error));
        stream.changed();
      }
    };
    const send = (text: string, images: string[], message = freshId()) =>
      carry({ id: message, text, images }, () => api.send(id, message, text, images));
    const wait = (text: string, images: string[], message = freshId()) =>
      carry({ id: message, text, images, isLater: true }, async () => {
        const waiting = await queue.add(id, message, text, images);
        await queries.cancelQueries({ queryKey: queueKey(id) }); // an answer from before may be on its way
        queries.setQueryData(queueKey(id), waiting);
      });
    const complain = (error: unknown) =>
      setProblem(error === null ? null : error instanceof Error ? error.message : String(error));
    const write = (text: string, images: string[]) => {
      if (!draftOf(id)) composer.current(text, images.length > 0 ? images : undefined); // others may be there already
    };
    return { id, stream, send, queue: wait, write, rewind, complain };
  }, [id, stream, queries]);
  useEffect(() => {
    const arrived = view.unsent.filter(({ id: message }) => waiting.some((queued) => queued.id === message));
    if (arrived.length === 0) return;
    for (const { id: message } of arrived) stream.fold.unsent(message, null);
    stream.changed();
  }, [view.unsent, waiting, stream]);
  const settle = ({ id: message, text, images, isLater }: Unsent, what: "again" | "discard") => {
    if (what === "again") return void (isLater ? desk.queue : desk.send)(text, images, message);
    stream.fold.unsent(message, null);
    stream.changed();
  };

  if (link === "gone") {
    return (
      <main id="main" className="main">
        <header className="bar">
          <SidebarButton />
        </header>
        <div className="new-body">
          <h1>{t("This conversation does not exist (any more).")}</h1>
          <div className="row center">
            <button className="primary" onClick={() => go(null)}>
              <SquarePen /> {t("New conversation")}
            </button>
          </div>
        </div>
      </main>
    );
  }
  const failure = problem ?? order.error?.message;
  return (
    <DeskContext value={desk}>
      <main id="main" className={panel ? "main with-panel" : "main"}>
        <header className="bar">
          <SidebarButton />
          <div className="bar-title">
            <h1 title={title} dir="auto">
              {title}
            </h1>
            <span className="facts">
              <span role="status" aria-live="polite">
                {known && <StatusMark status={known} />}
              </span>
              <span className="model" title={view.model}>
                {view.model}
              </span>
              <span className="folder" title={view.folder}>
                {view.folder}
              </span>
            </span>
          </div>
          {known && (
            <Meters meter={early ? meterOf(early.stats) : view.meter}>
              {view.isCurrent && <BudgetMeter id={id} status={status} meter={view.meter} />}
            </Meters>
          )}
          <div className="row controls">
            {isBusy && (
              <>
                <button onClick={() => order.mutate("pause")} title={t("Stop after the step under way")}>
                  <Pause /> <span className="in-words">{t("Pause")}</span>
                </button>
                <button className="danger" onClick={() => order.mutate("stop")} title={withChord(t("Stop now"), "stop")}>
                  <Square /> <span className="in-words">{t("Stop")}</span>
                </button>
              </>
            )}
            {(status === "paused" || status === "error" || status === "stuck") && (
              <button className={isOfferedBelow ? "" : "primary"} onClick={() => order.mutate("run")}>
                {status === "paused" ? <Play /> : <RotateCw />} {status === "paused" ? t("Go on") : t("Try again")}
              </button>
            )}
            <button
              aria-pressed={panel !== null}
              title={t("Panels")}
              onClick={() => useScreen.setState({ panel: panel ? null : usePreferences.getState().panel })}
            >
              <PanelRight /> <span className="in-words">{t("Panels")}</span>
            </button>
          </div>
        </header>
        {info.data?.parent_conversation_id && (
          <p className="banner">
            {t("A sub-agent’s work.")} <a href={`/c/${info.data.parent_conversation_id}`}>{t("Back to its parent")}</a>
          </p>
        )}
        {mode === "plan" && isBusy && <p className="banner">{t("It plans: nothing is changed until you approve the plan.")}</p>}
        {isBusy && view.goal?.active && (
          <p className="banner">
            {t("It works towards a goal, round {n} of at most {most}: {goal}", {
              n: view.goal.iteration + 1,
              most: view.goal.max_iterations,
              goal: unturned(view.goal.objective),
            })}
          </p>
        )}
        {link === "lost" && (
          <p className="banner" role="status">
            {t("The connection is lost. Reconnecting…")}
          </p>
        )}
        {failure && (
          <p className="banner problem" role="alert">
            {failure}{" "}
            <button
              className="quiet"
              aria-label={t("Dismiss")}
              onClick={() => {
                setProblem(null);
                order.reset();
              }}
            >
              <X />
            </button>
          </p>
        )}
        {wayBack && <UndoRewind id={id} way={wayBack} />}
        {panel && (status === "waiting_for_confirmation" || isAskedForHosts) && (
          <p className="banner narrow-only" role="status">
            {t("Needs you")}{" "}
            <button onClick={() => useScreen.setState({ panel: null })}>{t("Back to the conversation")}</button>
          </p>
        )}
        <div className="work">
          <section className="chat" aria-label={t("What happened")}>
            {isReplayed ? (
              <Guard>
                <Suspense>
                  <Replay view={view} stream={stream} onClose={() => useScreen.setState({ isReplayed: false })} />
                </Suspense>
              </Guard>
            ) : (
              <Timeline view={view} stream={stream} onSettle={settle} />
            )}
            {view.isCurrent && <Trust id={id} status={status} folder={view.folder} />}
            {view.preparing && (
              <p className="hint" role="status">
                {t("Making the workspace ready…")} {plain(view.preparing)}
              </p>
            )}
            <HostQuestions id={id} questions={view.hostQuestions} />
            {status === "waiting_for_confirmation" && <Confirm id={id} calls={openCalls(view)} folder={view.folder} />}
            {mode === "plan" && isSettled && status !== "waiting_for_confirmation" && <Plan id={id} folder={view.folder} seq={view.seq} />}
            {waiting.length > 0 && <Queue id={id} waiting={waiting} />}
            <Composer
              key={id}
              desk={desk}
              isBusy={isBusy}
              isAsked={status === "waiting_for_confirmation"}
              canWait={canWait(known ?? status)} // what is shown to work takes messages, also before its stream has begun
              onReady={(write) => (composer.current = write)}
            >
              {view.isCurrent && view.policy && <PolicySelect id={id} kind={view.policy} onProblem={desk.complain} />}
              {view.isCurrent && <ProfileSelect id={id} model={view.model} onProblem={desk.complain} />}
              {isSettled && <PlanButton id={id} mode={mode} />}
            </Composer>
          </section>
          {panel && (
            <Guard>
              <Suspense>
                <Panel id={id} view={view} name={panel} onSend={desk.send} />
              </Suspense>
            </Guard>
          )}
        </div>
        {rewindTo && rewindTo !== LAST && (
          <LazyDialog onClose={() => rewind(null)}>
            <Rewind view={view} message={rewindTo} onRewound={(way) => setRewound(id, way)} onClose={() => rewind(null)} />
          </LazyDialog>
        )}
      </main>
    </DeskContext>
  );
}
