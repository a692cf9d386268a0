// @vitest-environment happy-dom
import { expect, test, vi } from "vitest";
import { Socket, useSockets } from "./fake-socket";
import type { Source } from "./source";
import { Stream } from "./stream";

useSockets();

const source = (more: Partial<Source> = {}): Source => {
  const page = { items: [], before_seq: null };
  return { socket: "/s", auth: () => ({}), arrived: () => page, end: async () => page, before: async () => page, isRefused: async () => false, ...more };
};

async function follow(more?: Partial<Source>): Promise<{ stream: Stream; first: Socket; leave: () => void }> {
  const stream = new Stream(source(more));
  const leave = stream.subscribe(() => {});
  await vi.advanceTimersByTimeAsync(0);
  const first = Socket.opened[0]!;
  first.tell({ type: "sync", from_seq: -1, through_seq: -1 });
  return { stream, first, leave };
}

test("a connection that falls silent is given up, said to be lost, and made anew", async () => {
  const { stream, first, leave } = await follow();
  expect(first.address.searchParams.get("alive")).toBe("true");
  expect(stream.link).toBe("live");
  await vi.advanceTimersByTimeAsync(75_000);
  expect(first.isClosed).toBe(true);
  expect(Socket.opened).toHaveLength(2);
  expect(stream.current().link).toBe("lost");
  // One that never opens is no better.
  await vi.advanceTimersByTimeAsync(75_000);
  expect(Socket.opened).toHaveLength(3);
  Socket.opened[2]!.tell({ type: "sync", from_seq: -1, through_seq: -1 });
  expect(stream.link).toBe("live");
  leave();
});

test("one that says every 20 s that it lives is kept, and nothing is shown anew for that", async () => {
  const { stream, first, leave } = await follow();
  await vi.advanceTimersByTimeAsync(1_000);
  const shown = stream.current();
  for (let minute = 0; minute < 5; minute += 1 / 3) {
    await vi.advanceTimersByTimeAsync(20_000);
    first.tell({ type: "alive" });
  }
  expect(Socket.opened).toEqual([first]);
  expect(stream.current()).toBe(shown);
  leave();
});

test("what comes is told also where the browser stops drawing just then", async () => {
  const { stream, first, leave } = await follow();
  await vi.advanceTimersByTimeAsync(1_000);
  vi.stubGlobal("requestAnimationFrame", () => 1);
  const shown = stream.current();
  first.tell({ type: "transient", event: { kind: "ConversationStateUpdateEvent", key: "full_state", value: {} } });
  await vi.advanceTimersByTimeAsync(300);
  expect(stream.current()).not.toBe(shown);
  leave();
});

test("a socket whose key came too late, as from a tab that was frozen, is opened anew: only a refused key ends it", async () => {
  const late = await follow();
  late.first.onclose?.({ code: 4001 });
  await vi.advanceTimersByTimeAsync(500);
  expect(late.stream.link).toBe("lost");
  expect(Socket.opened).toHaveLength(2);
  late.leave();

  const refused = await follow({ isRefused: async () => true });
  Socket.opened.at(-1)?.onclose?.({ code: 4001 });
  await vi.advanceTimersByTimeAsync(30_000);
  expect(refused.stream.current().link).toBe("gone");
  expect(Socket.opened).toHaveLength(3);
  refused.leave();
});

test("who looks elsewhere hears of another status at once: timers of a hidden tab may wait for a minute", async () => {
  const { stream, first, leave } = await follow();
  first.tell({ type: "transient", event: { kind: "ConversationStateUpdateEvent", key: "full_state", value: {} } });
  await vi.advanceTimersByTimeAsync(300);
  vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  first.tell({ type: "delta", item_id: "a", attempt: 1, order: 0, kind: "text", content: "Sure?" });
  expect(stream.current().view.draft).toBeNull();
  first.tell({ type: "durable", seq: 0, event: { kind: "ConversationStateUpdateEvent", key: "execution_status", value: "waiting_for_confirmation" } });
  expect(stream.current().view.status).toBe("waiting_for_confirmation");
  leave();
});

test("who is shown a page can ask for the one before it at once", async () => {
  const asked: (number | null)[] = [];
  const before = async (seq: number | null) => {
    asked.push(seq);
    return { items: [], before_seq: (seq ?? 9) - 1 };
  };
  const stream = new Stream(source({ before }));
  const leave = stream.subscribe(() => {
    if (asked.length < 3) void stream.load();
  });
  void stream.load();
  await vi.advanceTimersByTimeAsync(0);
  expect(asked).toEqual([null, 8, 7]);
  leave();
});
