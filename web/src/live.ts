// What the agent's browser shows right now: pictures over a socket of their own, which is open while somebody looks.

import { useEffect, useState } from "react";
import { useKey } from "./key";
import { onSilence } from "./silence";

/** How soon it is tried again where no workspace runs, or the connection was cut. */
const AGAIN_MS = 3_000;

/** The address of the last picture; null while there is nothing to see. */
export function useLivePicture(id: string): string | null {
  const [picture, setPicture] = useState<string | null>(null);
  useEffect(() => {
    let leave = () => {};
    let last: string | null = null;
    const show = (bytes: ArrayBuffer | null) => {
      const next = bytes?.byteLength ? URL.createObjectURL(new Blob([bytes], { type: "image/jpeg" })) : null;
      setPicture(next);
      if (last) URL.revokeObjectURL(last);
      last = next;
    };
    const connect = () => {
      const address = new URL(`/sockets/browser/${id}?alive=true`, location.href);
      address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
      address.hash = "";
      const socket = new WebSocket(address);
      socket.binaryType = "arraybuffer";
      socket.onopen = () => socket.send(JSON.stringify({ type: "auth", session_api_key: useKey.getState().key ?? "" }));
      const silence = onSilence(() => over());
      socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
        silence.heard();
        if (typeof data !== "string") show(data);
      };
      const drop = () => {
        silence.forget();
        socket.onclose = socket.onmessage = socket.onopen = null;
        socket.close();
      };
      const over = () => {
        drop();
        show(null);
        const again = setTimeout(connect, AGAIN_MS);
        leave = () => clearTimeout(again);
      };
      socket.onclose = over;
      leave = drop;
    };
    connect();
    return () => {
      leave();
      if (last) URL.revokeObjectURL(last);
    };
  }, [id]);
  return picture;
}
