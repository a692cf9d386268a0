// @vitest-environment happy-dom
import { renderHook } from "@testing-library/react";
import { act } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openConsole } from "./console";
import { useLivePicture } from "./live";

/** Sockets as the browser has them, whose other end is the test. */
class Socket {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static opened: Socket[] = [];
  readyState = Socket.OPEN;
  onclose: ((event: { code: number; reason: string }) => void) | null = null;
  onmessage: ((message: { data: ArrayBuffer | string }) => void) | null = null;
  isClosed = false;
  constructor(readonly address: URL) {
    Socket.opened.push(this);
  }
  send(): void {}
  close(): void {
    this.isClosed = true;
  }
}
const ALIVE = { data: '{"type":"alive"}' };

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", Socket);
  Socket.opened = [];
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a terminal whose connection died without a word says so, and one whose workspace is still being started does not", () => {
  const onEnd = vi.fn();
  const onOutput = vi.fn();
  openConsole("c", { rows: 20, cols: 80 }, { onOutput, onEnd });
  const [socket] = Socket.opened;
  expect(socket?.address.searchParams.get("alive")).toBe("true");
  vi.advanceTimersByTime(300_000);
  for (let second = 0; second < 300; second += 20) {
    socket?.onmessage?.(ALIVE);
    vi.advanceTimersByTime(20_000);
  }
  expect(onEnd).not.toHaveBeenCalled();
  vi.advanceTimersByTime(60_000);
  expect(onEnd).toHaveBeenCalledExactlyOnceWith({ type: "lost", reason: "" });
  expect(socket?.isClosed).toBe(true);
  expect(onOutput).not.toHaveBeenCalled();
});

test("no picture is said to be live whose connection died without a word: it is made anew", () => {
  const { result, unmount } = renderHook(() => useLivePicture("c"));
  act(() => Socket.opened[0]?.onmessage?.({ data: new ArrayBuffer(3) }));
  expect(result.current).toMatch(/^blob:/);
  act(() => void vi.advanceTimersByTime(75_000));
  expect(result.current).toBeNull();
  expect(Socket.opened.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  unmount();
  vi.advanceTimersByTime(300_000);
  expect(Socket.opened.map(({ isClosed }) => isClosed)).toEqual([true, true]);
});
