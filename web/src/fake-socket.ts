// Sockets as the browser has them, whose other end is the test.

import { afterEach, beforeEach, vi } from "vitest";

export class Socket {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static opened: Socket[] = [];
  readyState = Socket.OPEN;
  onopen: (() => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  onmessage: ((message: { data: ArrayBuffer | string }) => void) | null = null;
  isClosed = false;
  constructor(readonly address: URL) {
    Socket.opened.push(this);
  }
  send(): void {}
  close(): void {
    this.isClosed = true;
  }
  tell(frame: object): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
}

/** Each test of the file has them, and a clock that it moves. */
export function useSockets(): void {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("WebSocket", Socket);
    Socket.opened = [];
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
  });
}
