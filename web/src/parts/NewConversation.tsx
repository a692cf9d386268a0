import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ArrowUp, Play, PlugZap } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { api, type Start } from "../api";
import { sorted } from "../attachments";
import { refreshConversations } from "../conversations";
import { draftOf, forgetDraft, keepDraft, NEW, useDraftPictures } from "../drafts";
import { useDropped } from "../dropped";
import { externalAgent } from "../external-agent";
import { folders, isWorkspaceName } from "../folders";
import { chordOf, withChord } from "../keys";
import type { Mode } from "../plan";
import { usePreferences } from "../preferences";
import { repositories } from "../repositories";
import { go } from "../route";
import { Findings } from "../settings/Findings";
import { server } from "../settings/server";
import { suggestions } from "../suggestions";
import { isSending } from "../touch";
import { t } from "../words";
import { Choices, completionProps, useCompletion } from "./Completion";
import { ModelFields, PolicyField } from "./ModelFields";
import { FileButton, Files, Pictures } from "./Pictures";
import { SidebarButton } from "./SidebarButton";
import { WorkerFields } from "./WorkerFields";
import { type Place, WorkPlace } from "./WorkPlace";

/** Begins a conversation, or the demo. */
export function NewConversation() {
  const queries = useQueryClient();
  const offer = useQuery({ queryKey: ["offer"], queryFn: api.offer, staleTime: Infinity });
  const preferences = usePreferences();
  const [message, setMessage] = useState(() => draftOf(NEW));
  const [pictures, setPictures] = useDraftPictures(NEW);
  const [files, setFiles] = useState<File[]>([]);
  const [refused, setRefused] = useState<string | null>(null);
  const write = (text: string) => {
    keepDraft(NEW, text);
    setMessage(text);
  };
  const [mode, setMode] = useState<Mode>("act");
  const [place, setPlace] = useState<Place>({ kind: "folder", address: "", branch: "" });
  const [progress, setProgress] = useState("");
  const stop = useRef(new AbortController());
  /** Brings the repository, if one is wished for: from then on it is a folder like others. */
  const folderOf = async (folder: string) => {
    if (place.kind === "folder") return folders.meant(folder);
    stop.current = new AbortController();
    setProgress(t("Fetching the repository…"));
    try {
      const show = (line: string) => setProgress(line || t("Fetching the repository…"));
      const made = await repositories.bring(place.address, place.branch, show, stop.current.signal);
      usePreferences.setState({ folder: made });
      setPlace({ kind: "folder", address: "", branch: "" });
      return made;
    } finally {
      setProgress("");
    }
  };
  /** What a second key or click finds before the page shows that the first was heard. */
  const isBegun = useRef(false);
  const start = useMutation({
    onError: () => {
      isBegun.current = false;
    },
    mutationFn: async (start: Start | "demo") => {
      if (start !== "demo") return api.start({ ...start, folder: await folderOf(start.folder) });
      const { folder, task } = await api.demo();
      return api.start({ model: "demo", profile: "", folder, message: task, images: [], files: [], external: null, policy: "never", analyzer: "rules", mode: "act", apiKey: "", baseUrl: "" });
    },
    onSuccess: (conversation, start) => {
      if (start !== "demo") forgetDraft(NEW);
      refreshConversations(queries, "newest");
      go(conversation.id);
    },
  });
  const begin = (what: Start | "demo") => {
    if (isBegun.current) return;
    isBegun.current = true;
    start.mutate(what);
  };
  const { profile, apiKey, baseUrl, policy, analyzer } = preferences;
  const model = profile ? "" : preferences.model || offer.data?.model || "";
  const folder = preferences.folder || offer.data?.folder || "";
  const area = useRef<HTMLTextAreaElement>(null);
  // What was half written goes on at its end.
  useEffect(() => area.current?.setSelectionRange(message.length, message.length), []);
  // What is in a repository or another workspace is known when it is there.
  const known = place.kind === "folder" && !isWorkspaceName(folder) ? folder : "";
  const find = (name: string) => folders.named(known, name);
  const names = { scope: known, folder: known, conversation: null, commands: [], models: [], find };
  const completion = useCompletion(message, write, area, names);
  const external = externalAgent(preferences.worker, preferences.command);
  const hasModel = model !== "" || profile !== "";
  const isPlaced = place.kind !== "folder" || folder !== ""; // the usual folder may not be known yet
  const hasWorker = external?.["acp_command"] !== ""; // of a model that is missing its field tells
  const canStart = !start.isPending && message.trim() !== "" && isPlaced && hasWorker;
  const check = useMutation({
    mutationFn: () =>
      profile
        ? server.checkModel(null, profile)
        : server.checkModel({ model, ...(apiKey && { api_key: apiKey }), ...(baseUrl && { base_url: baseUrl }) }, null),
  });
  const add = async (given: FileList) => {
    if (given.length === 0) return;
    const added = await sorted(given, pictures.length);
    setRefused(added.refused);
    setPictures((before) => [...before, ...added.pictures]);
    setFiles((before) => [...before, ...added.others]);
  };
  useDropped((files) => void add(files));
  const demo = (
    <section className="demo" aria-label={t("Demo")}>
      <p>
        {hasModel
          ? t("Or watch the built-in demo repair a small project. It needs no model and costs nothing.")
          : t("No model is set up yet. See how it works first: the built-in demo repairs a small project in a few seconds. It needs no key and costs nothing.")}
      </p>
      <button className={hasModel ? "" : "primary"} disabled={start.isPending} onClick={() => begin("demo")}>
        <Play /> {t("Try the demo")}
      </button>
    </section>
  );
  return (
    <main id="main" className="main new">
      <header className="bar">
        <SidebarButton />
      </header>
      <div className="new-body">
        <h1>{t("What should the agent do?")}</h1>
        {offer.isSuccess && !hasModel && <LocalModels onChosen={() => area.current?.focus()} />}
        {offer.isSuccess && !hasModel && demo}
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (canStart) begin({ model, profile, folder, message: message.trim(), images: pictures, files, external, policy, analyzer, mode: external ? "act" : mode, apiKey, baseUrl });
          }}
        >
          <div className="task-box">
            <Choices {...completion} />
            <textarea
              ref={area}
              rows={4}
              autoFocus
              aria-label={t("Task")}
              {...completionProps(completion)}
              value={message}
              placeholder={t("Find out why the tests fail, and repair it.")}
              onChange={(event) => {
                write(event.target.value);
                completion.onCaret(event.target.selectionStart, true);
              }}
              onSelect={(event) => completion.onCaret(event.currentTarget.selectionStart, false)}
              onPaste={(event) => void add(event.clipboardData.files)}
              onKeyDown={(event) => {
                if (event.nativeEvent.isComposing) return;
                if (completion.onKey(event)) return;
                if (!isSending(event.nativeEvent) && chordOf(event.nativeEvent) !== "Mod+Enter") return;
                event.preventDefault();
                event.currentTarget.form?.requestSubmit();
              }}
            />
            {pictures.length > 0 && <Pictures urls={pictures} onChange={setPictures} />}
            {files.length > 0 && <Files files={files} onChange={setFiles} />}
            {refused && (
              <p role="alert" className="problem">
                {refused}
              </p>
            )}
            <div className="task-foot">
              <FileButton label={t("Add pictures or files")} onAdd={(files) => void add(files)} />
              {!external && (
                <label className="inline">
                  <input
                    type="checkbox"
                    checked={mode === "plan"}
                    onChange={(event) => setMode(event.target.checked ? "plan" : "act")}
                  />
                  {t("Plan first: change nothing until I approve the plan")}
                </label>
              )}
              <button
                className="primary"
                title={withChord(t("Start"), "send")}
                disabled={!canStart}
              >
                <ArrowUp /> {start.isPending ? t("Starting…") : t("Start")}
              </button>
            </div>
          </div>
          {!message && (
            <ul className="chips suggestions" aria-label={t("Suggestions")}>
              {suggestions().map(({ title, task }) => (
                <li key={title}>
                  <button
                    type="button"
                    title={task}
                    onClick={() => {
                      write(task);
                      area.current?.focus();
                    }}
                  >
                    {title}
                  </button>
                </li>
              ))}
            </ul>
          )}
          <WorkPlace
            folder={folder}
            place={place}
            onChange={(place) => {
              setPlace(place);
              start.reset(); // what went wrong was about another place
            }}
          />
          <WorkerFields>
            <PolicyField />
          </WorkerFields>
          {!external && <ModelFields offer={offer.data} isWanted={!hasModel} isRefused={check.data?.some(({ ok }) => !ok)} />}
          <Findings check={check} />
          {!external && (
            <div className="row">
              <button type="button" disabled={!hasModel || check.isPending} onClick={() => check.mutate()}>
                <PlugZap /> {t("Test the connection")}
              </button>
            </div>
          )}
          {progress && (
            <div className="row fetching">
              <p role="status">{progress}</p>
              <button type="button" onClick={() => stop.current.abort()}>
                {t("Stop")}
              </button>
            </div>
          )}
          {(start.isError || offer.isError) && (
            <p role="alert" className="problem">
              {(start.error ?? offer.error)?.message}
            </p>
          )}
        </form>
        {offer.isSuccess && hasModel && demo}
      </div>
    </main>
  );
}

/** Models that run on the server's machine: they need no key. When one is chosen, the offer and what had the focus are gone. */
function LocalModels({ onChosen }: { onChosen: () => void }) {
  const local = useQuery({ queryKey: ["local"], queryFn: server.localModels, staleTime: 60_000 });
  const found = local.data?.filter(({ models }) => models.length > 0) ?? [];
  if (found.length === 0) return null;
  return (
    <section className="demo" aria-label={t("Found on this machine")}>
      <p>{t("These models run on the server’s machine. They need no key:")}</p>
      {found.map((place) => (
        <div key={place.address} className="row">
          <strong>{place.title}</strong>
          {place.models.slice(0, 8).map((name) => (
            <button
              key={name}
              onClick={() => {
                usePreferences.setState({ model: name, profile: "" });
                onChosen();
              }}
            >
              {name}
            </button>
          ))}
        </div>
      ))}
    </section>
  );
}
