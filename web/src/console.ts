// A shell on a terminal of its own in the workspace, over a socket. It ends with the socket.

import { useKey } from "./key";
import { onSilence } from "./silence";

export interface Size {
  rows: number;
  cols: number;
}

/** Why a console is over: its shell has ended, or something else, which the server says. */
export type Ending = { type: "ended" } | { type: "lost"; reason: string };

export interface Console {
  type: (text: string) => void;
  resize: (size: Size) => void;
  close: () => void;
}

/** The server's code for a shell that has ended by itself. */
const NORMAL = 1000;

export interface Listener {
  onOutput: (bytes: Uint8Array) => void;
  onEnd: (ending: Ending) => void;
}

/** Opens one. What is typed before that is done waits. */
export function openConsole(id: string, { rows, cols }: Size, listener: Listener): Console {
  const address = new URL(`/sockets/console/${encodeURIComponent(id)}?rows=${rows}&columns=${cols}&alive=true`, location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  address.hash = "";
  const socket = new WebSocket(address);
  socket.binaryType = "arraybuffer";
  let early: (string | Uint8Array<ArrayBuffer>)[] = [];
  const send = (message: string | Uint8Array<ArrayBuffer>) => {
    if (socket.readyState === WebSocket.CONNECTING) early.push(message);
    else if (socket.readyState === WebSocket.OPEN) socket.send(message);
  };
  socket.onopen = () => {
    send(JSON.stringify({ type: "auth", session_api_key: useKey.getState().key ?? "" }));
    early.forEach(send);
    early = [];
  };
  const close = () => {
    silence.forget();
    socket.onclose = socket.onmessage = socket.onopen = null;
    socket.close();
  };
  const end = (ending: Ending) => {
    close();
    listener.onEnd(ending);
  };
  const silence = onSilence(() => end({ type: "lost", reason: "" }));
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
    silence.heard();
    if (typeof data !== "string") listener.onOutput(new Uint8Array(data));
  };
  socket.onclose = ({ code, reason }) => end(code === NORMAL ? { type: "ended" } : { type: "lost", reason });
  return {
    type: (text) => send(new TextEncoder().encode(text)),
    resize: (size) => send(JSON.stringify({ rows: size.rows, columns: size.cols })),
    close,
  };
}
