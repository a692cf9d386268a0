import { useMutation, useQuery } from "@tanstack/react-query";
import { ExternalLink, House, RotateCw } from "lucide-react";
import { useState } from "react";
import { visibleControls } from "../plain";
import { t } from "../words";
import { workspace } from "../workspace";

/** How often it is looked for programs that serve a port. */
const LOOK_EVERY_MS = 5_000;
/** What a page of the workspace may do. Its origin is its own and never the app's, so it may have one. */
const MAY = "allow-scripts allow-same-origin allow-forms allow-modals allow-popups allow-downloads";

/** A page, and which time it is asked for. */
interface Asked {
  path: string;
  time: number;
}

/** The address of a page on the origin of another one, whatever was written. */
export const pageOf = (address: string, path: string) => `${new URL(address).origin}/${path.trim().replace(/^[/\\]+/, "")}`;

/** What programs of the workspace serve, seen through the server under another origin. */
export default function PreviewPanel({ id }: { id: string }) {
  const ports = useQuery({
    queryKey: ["ports", id],
    queryFn: () => workspace.ports(id),
    refetchInterval: LOOK_EVERY_MS,
  });
  const used = useQuery({
    queryKey: ["resources", id],
    queryFn: () => workspace.resources(id),
    refetchInterval: LOOK_EVERY_MS,
  }).data;
  /** The page that was asked for; null: the one that an address leads to. */
  const [asked, setAsked] = useState<Asked | null>(null);
  const [written, setWritten] = useState("/");
  const shown = useMutation({
    mutationFn: async (port: number) => ({ port, address: await workspace.openPort(id, port) }),
    onSuccess: () => {
      setAsked(null);
      setWritten("/");
    },
  });
  const visit = (path: string) => setAsked((before) => ({ path, time: (before?.time ?? 0) + 1 }));
  const elsewhere = useMutation({
    mutationFn: async (port: number) => {
      // Opened at once, or the browser takes it for one that nobody asked for; an address is good for one place only.
      const tab = open("about:blank", "_blank");
      if (!tab) throw new Error(t("The browser does not let this page open a tab."));
      tab.opener = null;
      try {
        tab.location.href = await workspace.openPort(id, port);
      } catch (error) {
        tab.close();
        throw error;
      }
    },
  });
  const problem = ports.error ?? shown.error ?? elsewhere.error;
  const preview = shown.data;
  return (
    <div className="preview">
      {problem && (
        <p role="alert" className="problem">
          {problem.message}
        </p>
      )}
      {ports.data?.length === 0 && (
        <p className="hint">{t("No program of the workspace serves a port. Ask the agent to start one.")}</p>
      )}
      <ul className="chips" aria-label={t("Ports")}>
        {ports.data?.map(({ port, process }) => (
          <li key={port}>
            <button aria-pressed={preview?.port === port} onClick={() => shown.mutate(port)}>
              {port} <span className="hint">{visibleControls(process)}</span>
            </button>
          </li>
        ))}
      </ul>
      {used && (
        <p className="hint used">
          {t("Programs: {n}, with {memory} MB in memory; {seconds} s of processor time so far; {free} GB of disk free", {
            n: used.processes,
            memory: Math.round(used.memory_bytes / 1e6),
            seconds: Math.round(used.processor_ms / 1000),
            free: Math.round(used.disk_free_bytes / 1e9),
          })}
        </p>
      )}
      {preview && (
        <>
          <form
            className="row tools address"
            onSubmit={(event) => {
              event.preventDefault();
              visit(written);
            }}
          >
            <button
              type="button"
              className="quiet icon-only"
              aria-label={t("First page")}
              title={t("First page")}
              onClick={() => shown.mutate(preview.port)}
            >
              <House />
            </button>
            <button
              type="button"
              className="quiet icon-only"
              aria-label={t("Reload")}
              title={t("Reload")}
              onClick={() => (asked ? visit(asked.path) : shown.mutate(preview.port))}
            >
              <RotateCw />
            </button>
            <input
              className="mono"
              aria-label={t("Page to show")}
              title={t("Page to show")}
              spellCheck={false}
              value={written}
              onChange={(event) => setWritten(event.target.value)}
            />
            <button
              type="button"
              className="quiet icon-only"
              aria-label={t("Open in a new tab")}
              title={t("Open in a new tab")}
              onClick={() => elsewhere.mutate(preview.port)}
            >
              <ExternalLink />
            </button>
          </form>
          <iframe
            key={`${preview.address} ${asked?.time}`}
            src={asked ? pageOf(preview.address, asked.path) : preview.address}
            title={t("What port {port} serves", { port: preview.port })}
            sandbox={MAY}
            allow=""
            referrerPolicy="no-referrer"
          />
        </>
      )}
    </div>
  );
}
