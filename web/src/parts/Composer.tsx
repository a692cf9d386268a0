import { ArrowUp, ListPlus, X } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { api } from "../api";
import { attach, naming } from "../attachments";
import { commandOf, offeredCommands, shellCommandOf } from "../commands";
import type { Desk } from "../desk";
import { draftOf, keepDraft, useDraftPictures } from "../drafts";
import { useDropped } from "../dropped";
import { useFocusLeft } from "../focus-back";
import { chordFor, chordWords, isKey, withChord } from "../keys";
import { lazily } from "../lazily";
import { unturned } from "../plain";
import { useProfiles } from "../profiles";
import { recalled, saidBefore } from "../recall";
import { isSending, isTouched } from "../touch";
import { showPanel } from "../screen";
import { runInShell } from "../shell";
import { t } from "../words";
import { workspace } from "../workspace";
import { Choices, completionProps, useCompletion } from "./Completion";
import { LazyDialog } from "./LazyDialog";
import { FileButton, Pictures } from "./Pictures";

const Recall = lazily(() => import("./Recall"));

interface Props {
  desk: Desk;
  isBusy: boolean;
  /** Whether something waits for a word, which a message rejects. */
  isAsked: boolean;
  /** Whether a message can wait for the end of the turn. */
  canWait: boolean;
  /** Hears how a text is put here from elsewhere. */
  onReady: (write: (text: string, images?: string[]) => void) => void;
  /** More buttons. */
  children?: ReactNode;
}

/** Where messages are written. Pictures and files come by button, paste or drop; `@` names files, `/` commands. */
export function Composer({ desk, isBusy, isAsked, canWait, onReady, children }: Props) {
  const { id } = desk;
  const [text, setText] = useState(() => draftOf(id));
  const [pictures, setPictures] = useDraftPictures(id);
  const [refused, setRefused] = useState<string | null>(null);
  const [said, setSaid] = useState<string | null>(null);
  const [isRecalling, setRecalling] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const change = (next: string) => {
    keepDraft(id, next);
    setText(next);
  };
  useEffect(() => {
    // What began the conversation is gone, and with it the focus. A keyboard on glass would cover what is there to read.
    if (document.activeElement !== document.body || isTouched()) return;
    area.current?.setSelectionRange(text.length, text.length); // what was half written goes on at its end
    area.current?.focus();
  }, []);
  useEffect(() => {
    onReady((next, images) => {
      keepDraft(id, next);
      setText(next);
      if (images) setPictures(images);
      area.current?.focus();
    });
  }, [id, onReady]);
  const add = async (given: FileList) => {
    const files = [...given]; // the field's list is emptied for the next choice
    if (files.length === 0) return;
    desk.complain(null);
    try {
      // Until the stream tells the folder, the conversation does.
      const folder = desk.stream.fold.view.folder || (await api.get(id)).workspace.working_dir;
      const added = await attach(id, folder, files, pictures.length);
      setRefused(added.refused);
      setPictures((before) => [...before, ...added.pictures]);
      if (added.files.length > 0) change(`${naming(draftOf(id), added.files)} `);
    } catch (error) {
      desk.complain(error);
    }
  };
  useDropped((files) => void add(files));
  // A button that was pressed, as to allow or to stop, is gone when that has come about.
  useFocusLeft(desk.stream.fold.view.status, () => {
    if (!isTouched()) area.current?.focus();
  });

  const names = {
    scope: id,
    conversation: id,
    folder: desk.stream.fold.view.folder,
    commands: offeredCommands(id, isBusy),
    models: useProfiles().map(({ name, model }) => ({ name, help: model ?? "" })),
    find: (name: string) => workspace.find(id, name),
  };
  const completion = useCompletion(text, change, area, names);

  const isEmpty = !text.trim() && pictures.length === 0;
  const submit = async (when: "now" | "later") => {
    if (isEmpty) return;
    const command = commandOf(text);
    const shell = shellCommandOf(text);
    change("");
    if (shell) {
      showPanel("terminal");
      runInShell(id, shell);
      return;
    }
    if (command?.command.needsRun && !isBusy) {
      setSaid(t("Nothing is under way."));
      return;
    }
    if (command) {
      desk.complain(null); // what was wrong before may be right now
      setSaid(`${t("Under way:")} ${command.command.help}`);
      const words = await command.command.run(id, command.rest).catch((error: unknown) => {
        if (!draftOf(id)) change(text); // unless something else was begun meanwhile
        desk.complain(error);
      });
      setSaid(words || null);
      return;
    }
    setPictures([]);
    await (when === "later" ? desk.queue : desk.send)(text.trim(), pictures);
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void submit("now");
      }}
    >
      {said && (
        <p className="aside" role="status">
          {unturned(said)}{" "}
          <button type="button" className="quiet" aria-label={t("Dismiss")} onClick={() => setSaid(null)}>
            <X />
          </button>
        </p>
      )}
      {pictures.length > 0 && <Pictures urls={pictures} onChange={setPictures} />}
      {refused && (
        <p role="alert" className="problem">
          {refused}
        </p>
      )}
      <Choices {...completion} />
      <div className="composer-box">
        <textarea
          ref={area}
          aria-label={t("Message")}
          {...completionProps(completion)}
          rows={Math.min(10, Math.max(2, text.split("\n").length))}
          value={text}
          placeholder={invitation()}
          onChange={(event) => {
            change(event.target.value);
            completion.onCaret(event.target.selectionStart, true);
          }}
          onSelect={(event) => completion.onCaret(event.currentTarget.selectionStart, false)}
          onPaste={(event) => void add(event.clipboardData.files)}
          onKeyDown={(event) => {
            if (event.nativeEvent.isComposing) return;
            if (canWait && isKey(event.nativeEvent, "queue")) {
              event.preventDefault();
              void submit("later");
              return;
            }
            const taken = completion.onKey(event);
            if (taken) return;
            if (taken === null) {
              event.preventDefault();
              event.currentTarget.form?.requestSubmit();
            } else if (isSending(event.nativeEvent)) {
              event.preventDefault();
              event.currentTarget.form?.requestSubmit();
            } else if (isKey(event.nativeEvent, "recall")) {
              event.preventDefault();
              setRecalling(true);
            } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
              const said = saidBefore(desk.stream.fold.view.items);
              const earlier = recalled(said, text, event.key === "ArrowUp" ? 1 : -1);
              if (earlier === null) return;
              event.preventDefault();
              change(earlier);
            }
          }}
        />
        <div className="composer-tools">
          <FileButton label={t("Add pictures or files")} onAdd={(files) => void add(files)} />
          {children}
          <span className="send">
            {canWait && (
              <button
                type="button"
                disabled={isEmpty}
                title={withChord(t("Said when this turn ends"), "queue")}
                onClick={() => void submit("later")}
              >
                <ListPlus /> <span className="in-words">{t("Queue")}</span>
              </button>
            )}
            <button className="primary" disabled={isEmpty}>
              <ArrowUp /> {isBusy ? t("Steer now") : isAsked ? t("Send instead") : t("Send")}
            </button>
          </span>
        </div>
      </div>
      {isRecalling && (
        <LazyDialog onClose={() => setRecalling(false)}>
          <Recall id={id} onChoose={change} onClose={() => setRecalling(false)} />
        </LazyDialog>
      )}
    </form>
  );

  function invitation(): string {
    if (isAsked) return t("Say what to do instead. What waits is not done then");
    const later = isTouched() ? null : chordFor("queue");
    if (isBusy && later) return t("Steer it: read at the next step. {keys}: at the end of the turn", { keys: chordWords(later) });
    if (isBusy) return t("Steer it: read at the next step");
    return t("Say what comes next. @ names a file, / a command, ! runs one in your shell");
  }
}
