// Follows a conversation: one socket, which comes back with the last position it knows whenever it is cut.

import { Fold } from "./fold";
import { SILENCE_LIMIT_MS, TICK_MS } from "./silence";
import type { Source } from "./source";
import { type View } from "./view";
import type { Frame } from "./wire";
import { t } from "./words";

export type Link = "connecting" | "live" | "lost" | "gone";

/** The waits between attempts to come back. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 8_000;
/** Frames are shown together, at most with every second picture: the next one is free for what was drawn to be laid out.
 * Where the browser draws none, because nobody looks, less often. */
const SHOWN_PAUSE_MS = 25;
const HIDDEN_PAUSE_MS = 250;

/** Close codes of the server. */
const DELETED = 1000;
const UNAUTHORIZED = 4001;
const NOT_FOUND = 4004;

export class Stream {
  readonly fold = new Fold();
  link: Link = "connecting";
  private socket: WebSocket | null = null;
  private waiting: Frame[] = [];
  /** What shows the frames that wait, whichever is first. */
  private flushing: { timer: number; picture: number } | null = null;
  private shownAt = 0;
  private attempts = 0;
  private isLoaded = false;
  private loading: Promise<void> | null = null;
  private retry = 0;
  /** When a page that could not be loaded is tried again, and how often it has failed. */
  private pageRetry = 0;
  private pageFailures = 0;
  private ticking = 0;
  /** When the connection last gave a sign, or was begun. */
  private heardAt = 0;
  private readonly listeners = new Set<() => void>();
  private snapshot: { view: View; link: Link };

  constructor(private readonly source: Source) {
    const end = source.arrived();
    if (end) this.fold.prepend(end);
    this.isLoaded = end !== null;
    this.snapshot = { view: this.fold.view, link: this.link };
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    if (this.listeners.size === 1) this.open();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.close();
    };
  };

  readonly current = () => this.snapshot;

  /** Says to those who look that something is new. */
  changed(): void {
    this.snapshot = { view: this.fold.view, link: this.link };
    for (const listener of this.listeners) listener();
  }

  private open(): void {
    addEventListener("online", this.again);
    document.addEventListener("visibilitychange", this.woken);
    this.heardAt = Date.now();
    this.ticking = window.setInterval(this.tick, TICK_MS);
    void this.begin();
  }

  /** The end of the log is shown before the stream begins, which goes on from there. */
  private async begin(): Promise<void> {
    if (!this.isLoaded) await this.load();
    if (this.listeners.size > 0 && !this.socket) this.connect();
  }

  private close(): void {
    removeEventListener("online", this.again);
    document.removeEventListener("visibilitychange", this.woken);
    clearTimeout(this.retry);
    this.forgetRetry();
    clearInterval(this.ticking);
    this.drop();
  }

  /** The network is back: what we have may be dead without knowing it. */
  private readonly again = () => {
    if (this.link === "gone" || (!this.isLoaded && this.loading)) return;
    this.attempts = 0;
    this.connect();
  };

  private readonly woken = () => {
    if (document.hidden) return;
    if (this.link === "lost") this.again();
    this.tick();
  };

  private readonly tick = () => {
    if (this.link === "gone" || Date.now() - this.heardAt <= SILENCE_LIMIT_MS) return;
    this.link = "lost";
    this.changed();
    this.again();
  };

  private connect(): void {
    clearTimeout(this.retry);
    this.drop();
    this.flush();
    this.heardAt = Date.now();
    // Where the end of the log could not be loaded, that is tried again when the stream has begun.
    const { seq } = this.fold.view;
    const after = this.isLoaded ? `&after_seq=${seq}` : "";
    const address = new URL(`${this.source.socket}?tool_output=true&attends=true&alive=true${after}`, location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.socket = socket;
    socket.onopen = () => socket.send(JSON.stringify({ type: "auth", ...this.source.auth() }));
    socket.onmessage = (message) => this.heard(JSON.parse(String(message.data)) as Frame);
    socket.onclose = (event) => this.closed(event.code);
  }

  private drop(): void {
    if (!this.socket) return;
    this.socket.onclose = this.socket.onmessage = this.socket.onopen = null;
    this.socket.close();
    this.socket = null;
  }

  private heard(frame: Frame): void {
    this.heardAt = Date.now();
    if (frame.type === "alive") return;
    if (frame.type === "sync") {
      this.attempts = 0;
      this.link = "live";
      if (!this.isLoaded || this.pageRetry) void this.load();
    }
    this.waiting.push(frame);
    if (document.hidden && isNews(frame)) return this.flush(); // its timers may have to wait for a minute
    this.flushing ??= { timer: window.setTimeout(this.flush, HIDDEN_PAUSE_MS), picture: requestAnimationFrame(this.draw) };
  }

  private readonly draw = () => {
    if (performance.now() - this.shownAt >= SHOWN_PAUSE_MS) this.flush();
    else if (this.flushing) this.flushing.picture = requestAnimationFrame(this.draw);
  };

  /** Loads the page before what is there. */
  load(): Promise<void> {
    this.forgetRetry();
    this.loading ??= this.loadPage();
    return this.loading;
  }

  /** The event before this one; null: there is none. It may have to be loaded first. */
  async parentOf(id: string): Promise<string | null> {
    const isUnknown = () => this.fold.parentOf(id) === null && this.fold.view.hasEarlier;
    if (isUnknown()) await this.load();
    if (isUnknown()) throw new Error(t("What stands before this message cannot be loaded. Try again."));
    return this.fold.parentOf(id);
  }

  private async loadPage(): Promise<void> {
    const page = await (this.isLoaded ? this.source.before(this.fold.earlier) : this.source.end()).catch(() => null);
    this.loading = null; // who is shown the page may want the one before it at once
    if (page) {
      this.flush();
      this.fold.prepend(page);
      this.isLoaded = true;
      this.pageFailures = 0;
      this.changed();
    } else if (!this.isLoaded) {
      this.socket?.close(); // the next attempt loads it
    } else if (this.listeners.size > 0) {
      this.pageRetry = window.setTimeout(() => void this.load(), waitAfter(this.pageFailures++));
    }
  }

  private forgetRetry(): void {
    clearTimeout(this.pageRetry);
    this.pageRetry = 0;
  }

  private readonly flush = () => {
    if (this.flushing) {
      clearTimeout(this.flushing.timer);
      cancelAnimationFrame(this.flushing.picture);
      this.flushing = null;
    }
    if (this.waiting.length === 0) return;
    this.shownAt = performance.now();
    const frames = this.waiting;
    this.waiting = [];
    // What came while we were away is shown when it is complete.
    if (this.fold.apply(frames).isCurrent) this.changed();
  };

  private closed(code: number): void {
    this.socket = null;
    if (code === DELETED || code === NOT_FOUND) return this.leave();
    this.link = "lost";
    this.changed();
    this.retry = window.setTimeout(() => this.connect(), waitAfter(this.attempts++));
    if (code === UNAUTHORIZED) void this.source.isRefused().then((isRefused) => isRefused && this.leave());
  }

  /** There is nothing to come back to. */
  private leave(): void {
    clearTimeout(this.retry);
    this.drop();
    this.link = "gone";
    this.changed();
  }
}

/** Whether somebody may be told of it who looks elsewhere. */
function isNews(frame: Frame): boolean {
  if (frame.type === "host_questions") return true;
  return frame.type === "durable" && frame.event.kind === "ConversationStateUpdateEvent" && frame.event.key === "execution_status";
}

/** How long to wait after so many failures; not all clients the same. */
function waitAfter(failures: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures) * (0.5 + Math.random() / 2);
}
