// @vitest-environment happy-dom
import { renderHook } from "@testing-library/react";
import { act } from "react";
import { expect, test, vi } from "vitest";
import { openConsole } from "./console";
import { Socket, useSockets } from "./fake-socket";
import { useLivePicture } from "./live";

useSockets();

test("a terminal whose connection died without a word says so, and one whose workspace is still being started does not", () => {
  const onEnd = vi.fn();
  const onOutput = vi.fn();
  openConsole("c", { rows: 20, cols: 80 }, { onOutput, onEnd });
  const [socket] = Socket.opened;
  expect(socket?.address.searchParams.get("alive")).toBe("true");
  vi.advanceTimersByTime(300_000);
  for (let second = 0; second < 300; second += 20) {
    socket?.tell({ type: "alive" });
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
