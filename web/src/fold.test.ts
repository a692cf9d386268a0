import { expect, test } from "vitest";
import { answerOf } from "./cards/describe";
import { Fold } from "./fold";
import { openCalls } from "./view";
import type { Event, Frame, Observation } from "./wire";

let ids = 0;
const base = (source: "agent" | "user" | "environment") => ({ id: `e${++ids}`, timestamp: "2026-01-01T00:00:00", source });
const says = (from: "agent" | "user" | "environment", text: string): Event => ({
  ...base(from),
  kind: "MessageEvent",
  llm_message: { role: from === "agent" ? "agent" : "user", content: [{ type: "text", text }] },
});
const acts = (call: string): Event => ({ ...base("agent"), kind: "ActionEvent", tool_name: "terminal", tool_call_id: call });
const answers = (call: string, observation: Observation): Event => ({
  ...base("environment"),
  kind: "ObservationEvent",
  action_id: "",
  tool_call_id: call,
  observation,
});
const is = (key: string, value: unknown): Event => ({
  ...base("environment"),
  kind: "ConversationStateUpdateEvent",
  key,
  value,
});
const stored = (seq: number, event: Event): Frame => ({ type: "durable", seq, event });
const told = (status: string): Frame => ({ type: "transient", event: is("full_state", { execution_status: status }) });
const texts = (fold: Fold) => fold.view.items.map((item) => (item.type === "message" ? item.text : item.type));

test("what comes again after a reconnection changes nothing", () => {
  const fold = new Fold();
  const frames = [stored(0, says("user", "one")), stored(2, says("agent", "two"))];
  fold.apply([{ type: "sync", from_seq: -1, through_seq: 2 }, ...frames]);
  fold.apply([{ type: "sync", from_seq: 2, through_seq: 3 }, ...frames, stored(3, says("user", "three"))]);
  expect(texts(fold)).toEqual(["one", "two", "three"]);
  expect(fold.view.seq).toBe(3);
});

test("what is around the agent is not taken for the agent", () => {
  const fold = new Fold();
  fold.apply([stored(0, says("agent", "I try again.")), stored(1, says("environment", "Find another way."))]);
  expect(fold.view.items.map((item) => item.type === "message" && item.from)).toEqual(["agent", "environment"]);
});

test("how far the workspace is shows until something happens in it", () => {
  const fold = new Fold();
  fold.apply([{ type: "preparing", line: "pulled 5 of 10 MB (50 %)" }]);
  expect(fold.view.preparing).toBe("pulled 5 of 10 MB (50 %)");
  fold.apply([stored(0, says("agent", "There."))]);
  expect(fold.view.preparing).toBeNull();
});

test("how far the workspace is shows no longer than it is made ready, or may be", () => {
  const fold = new Fold();
  for (const end of [{ type: "prepared" }, { type: "sync", from_seq: -1, through_seq: -1 }] as Frame[]) {
    fold.apply([{ type: "preparing", line: "pulled 5 of 10 MB (50 %)" }]);
    expect(fold.view.preparing).toBe("pulled 5 of 10 MB (50 %)");
    fold.apply([end]);
    expect(fold.view.preparing).toBeNull();
  }
});

test("the hosts that programs wait for are those of the last word", () => {
  const fold = new Fold();
  fold.apply([{ type: "host_questions", questions: [{ host: "a.example", port: 443 }] }]);
  expect(fold.view.hostQuestions).toEqual([{ host: "a.example", port: 443 }]);
  fold.apply([{ type: "host_questions", questions: [] }]);
  expect(fold.view.hostQuestions).toEqual([]);
});

test("all is there when the position that was announced has come, and the state was told", () => {
  const fold = new Fold();
  fold.apply([{ type: "sync", from_seq: -1, through_seq: 1 }, stored(0, says("user", "one"))]);
  expect(fold.view.isCurrent).toBe(false);
  fold.apply([stored(1, says("agent", "two"))]);
  expect(fold.view.isCurrent, "the status is not known yet").toBe(false);
  fold.apply([told("finished")]);
  expect(fold.view).toMatchObject({ isCurrent: true, status: "finished" });
  fold.apply([{ type: "sync", from_seq: 1, through_seq: 2 }]);
  expect(fold.view.isCurrent).toBe(false);
  fold.apply([stored(2, says("user", "three"))]);
  expect(fold.view.isCurrent).toBe(true);
});

test("a conversation folded in pieces is the one folded at once", () => {
  const frames: Frame[] = [
    stored(0, says("user", "go")),
    stored(1, acts("c1")),
    stored(2, answers("c1", { kind: "TerminalObservation", exit_code: 0 })),
    stored(3, is("execution_status", "finished")),
  ];
  const [whole, pieces] = [new Fold(), new Fold()];
  whole.apply(frames);
  for (const frame of frames) pieces.apply([frame]);
  expect(pieces.view).toEqual(whole.view);
});

test("a reply grows until it is stored, and a new attempt begins from nothing", () => {
  const fold = new Fold();
  const delta = (content: string, attempt = 1): Frame => ({
    type: "delta", item_id: "r", attempt, order: 0, kind: "text", content,
  });
  fold.apply([{ type: "item_started", item_id: "r", attempt: 1 }, delta("Hel"), delta("lo")]);
  expect(fold.view.draft).toMatchObject({ text: "Hello", isPartial: false });
  fold.apply([
    { type: "item_aborted", item_id: "r", attempt: 1, reason: "" },
    { type: "item_started", item_id: "r", attempt: 2 },
    delta("Bye", 2),
  ]);
  expect(fold.view.draft?.text).toBe("Bye");
  fold.apply([stored(0, says("agent", "Bye."))]);
  expect(fold.view.draft).toBeNull();
  expect(texts(fold)).toEqual(["Bye."]);
});

test("who comes in the middle of a reply sees that its beginning is missing", () => {
  const fold = new Fold();
  fold.apply([{ type: "sync" }, { type: "delta", item_id: "r", attempt: 1, order: 4, kind: "text", content: "end" }]);
  expect(fold.view.draft).toMatchObject({ text: "end", isPartial: true });
});

test("results find their calls, and what has none is open", () => {
  const fold = new Fold();
  fold.apply([stored(0, acts("a")), stored(1, acts("b")), stored(2, acts("c"))]);
  fold.apply([
    stored(3, answers("b", { kind: "TerminalObservation", exit_code: 1 })),
    stored(4, { ...base("agent"), kind: "AgentErrorEvent", tool_call_id: "c", error: "no such tool" }),
  ]);
  expect(openCalls(fold.view).map((call) => call.event.tool_call_id)).toEqual(["a"]);
  expect(fold.view.items[2]).toMatchObject({ result: { type: "error", text: "no such tool" } });
});

test("a message on its way disappears when the log has it, and stays when it failed", () => {
  const fold = new Fold();
  const first = says("user", "hi");
  fold.sending({ id: first.id, text: "hi", images: [] });
  fold.sending({ id: "other", text: "hi", images: [] });
  fold.apply([stored(0, first)]);
  expect(fold.view.unsent.map((message) => message.id)).toEqual(["other"]);
  fold.unsent("other", "no network");
  expect(fold.view.unsent).toMatchObject([{ text: "hi", failure: "no network" }]);
  fold.sending({ id: "other", text: "hi", images: [] });
  expect(fold.view.unsent).toMatchObject([{ id: "other", failure: null }]);
});

test("a message whose answer was lost is not shown as unsent once the log has it", () => {
  const fold = new Fold();
  const early = says("user", "early");
  const late = says("user", "late");
  fold.sending({ id: early.id, text: "early", images: [] });
  fold.sending({ id: late.id, text: "late", images: [] });
  fold.apply([stored(0, early)]);
  fold.unsent(early.id, "no network");
  fold.unsent(late.id, "no network");
  expect(fold.view.unsent).toMatchObject([{ text: "late", failure: "no network" }]);
  fold.apply([stored(1, late)]);
  expect(fold.view.unsent).toEqual([]);
});

test("what a model thought, what a critic thinks of it, and what took the place of earlier steps, is kept", () => {
  const fold = new Fold();
  const llm_message = { role: "assistant", content: [], reasoning_content: "Hm." };
  const reply: Event = { ...base("agent"), kind: "MessageEvent", llm_message, critic_result: { score: 0.5 } };
  fold.apply([stored(0, reply), stored(1, { ...base("environment"), kind: "Condensation", summary: "All of it." } as Event)]);
  expect(fold.view.items).toMatchObject([{ reasoning: "Hm.", critic: { score: 0.5 } }, { type: "note", more: "All of it." }]);
});

test("a circle tells where it can be left", () => {
  const fold = new Fold();
  const stuck = { ...base("environment"), kind: "ConversationErrorEvent", code: "AgentStuckInLoop", detail: "x" };
  fold.apply([{ type: "durable", seq: 0, event: stuck as Event, before_circle: "e1" }]);
  expect(fold.view.items).toMatchObject([{ type: "failure", rewindTo: "e1" }]);
});

test("edits of one file become one change, and going back becomes none", () => {
  const fold = new Fold();
  const edit = (old_content: string, new_content: string): Observation => ({
    kind: "FileEditorObservation", path: "/w/a", prev_exist: true, old_content, new_content,
  });
  fold.apply([stored(0, acts("a")), stored(1, answers("a", edit("1", "2"))), stored(2, answers("a", edit("2", "3")))]);
  expect(fold.view.changes).toEqual([{ path: "/w/a", before: "1", after: "3" }]);
  fold.apply([stored(3, answers("a", edit("3", "1")))]);
  expect(fold.view.changes).toEqual([]);
});

test("status, model, folder and figures come from the state", () => {
  const fold = new Fold();
  const usage = { prompt_tokens: 90, completion_tokens: 10, cache_read_tokens: 50, context_window: 1000, per_turn_token: 250 };
  fold.apply([
    {
      type: "transient",
      event: is("full_state", {
        execution_status: "running",
        agent: { llm: { model: "demo" } },
        workspace: { working_dir: "/w" },
        stats: { usage_to_metrics: { agent: { accumulated_cost: 0.25, accumulated_token_usage: usage } } },
      }),
    },
  ]);
  expect(fold.view).toMatchObject({ status: "running", model: "demo", folder: "/w" });
  expect(fold.view.meter).toMatchObject({ cost: 0.25, isCostKnown: true, input: 90, output: 10, cached: 50, context: 0.25 });
});

test("an analyser's word on the risk counts", () => {
  const fold = new Fold();
  const action = acts("a");
  fold.apply([
    stored(0, action),
    stored(1, { ...base("environment"), kind: "SecurityAnalysisEvent", risks: { [action.id]: "HIGH" } }),
  ]);
  expect(fold.view.items[0]).toMatchObject({ risk: "HIGH" });
});

test("events of kinds that are not known are passed over", () => {
  const fold = new Fold();
  fold.apply([stored(0, { ...base("agent"), kind: "SomethingNew" } as unknown as Event), stored(1, says("user", "hi"))]);
  expect(texts(fold)).toEqual(["hi"]);
});

const page = (from: number, before_seq: number | null, ...events: Event[]) => ({
  items: events.map((event, index) => ({ seq: from + index, event })),
  before_seq,
});

test("the end of the log is shown before the stream begins, and followed from there", () => {
  const fold = new Fold();
  const last = says("agent", "end");
  fold.prepend(page(7, 7, says("user", "go"), last, is("execution_status", "finished")));
  expect(texts(fold)).toEqual(["go", "end"]);
  expect(fold.view, "the state is told by the stream").toMatchObject({ isCurrent: false, seq: 9, hasEarlier: true });
  fold.apply([{ type: "sync", from_seq: 9, through_seq: 10 }, stored(10, says("user", "more")), told("running")]);
  expect(texts(fold)).toEqual(["go", "end", "more"]);
  expect(fold.view).toMatchObject({ isCurrent: true, status: "running", seq: 10 });
});

test("the end is loaded first, and earlier pages are put before it", () => {
  const fold = new Fold();
  fold.apply([{ type: "sync", through_seq: 3 }, told("finished")]);
  expect(fold.view.isCurrent, "nothing is loaded yet").toBe(false);
  const [first, action, result, last] = [
    says("user", "one"),
    acts("c1"),
    answers("c1", { kind: "TerminalObservation", exit_code: 0 }),
    says("agent", "end"),
  ];
  fold.prepend(page(2, 2, result, last));
  expect(fold.view).toMatchObject({ isCurrent: true, hasEarlier: true, seq: 3 });
  expect(fold.earlier).toBe(2);
  fold.prepend(page(0, null, first, action));
  expect(texts(fold)).toEqual(["one", "call", "end"]);
  expect(openCalls(fold.view), "its result came with a later page").toEqual([]);
  expect(fold.view.hasEarlier).toBe(false);
});

test("what came by the socket is not taken from a page again", () => {
  const fold = new Fold();
  const live = says("agent", "live");
  fold.apply([{ type: "sync", through_seq: 0 }, stored(1, live)]);
  fold.prepend(page(0, null, says("user", "one"), live));
  expect(texts(fold)).toEqual(["one", "live"]);
});

test("what was taken back is not shown where the place that it was taken back to is loaded later", () => {
  const fold = new Fold();
  const first = says("user", "one");
  const undone = page(7, 7, says("user", "two"), says("agent", "done"), is("leaf_event_id", first.id));
  fold.prepend(undone);
  expect(texts(fold), "before the stream has begun").toEqual([]);
  const state: Frame = { type: "transient", event: is("full_state", { leaf_event_id: first.id }) };
  fold.apply([{ type: "sync", from_seq: 9, through_seq: 9 }, state]);
  expect(fold.view).toMatchObject({ items: [], isCurrent: true, hasEarlier: true });
  fold.prepend(page(0, null, first, says("agent", "answer")));
  expect(texts(fold)).toEqual(["one"]);
  const lost = new Fold();
  lost.prepend({ ...undone, before_seq: null });
  expect(texts(lost), "a place that is nowhere hides nothing").toEqual(["two", "done"]);
});

test("other words for a message are another version of it", () => {
  const fold = new Fold();
  const first = says("user", "one");
  const answer: Event = { ...says("agent", "answer"), parent_id: first.id };
  fold.apply([stored(0, first), stored(1, answer)]);
  fold.apply([{ type: "transient", event: is("full_state", { head_is_empty: true }) }]);
  expect(texts(fold)).toEqual([]);
  const second: Event = { ...says("user", "two"), parent_id: first.id };
  fold.apply([{ type: "transient", event: is("full_state", { leaf_event_id: first.id }) }, stored(2, second)]);
  expect(texts(fold)).toEqual(["one", "two"]);
  const third: Event = { ...says("user", "three"), parent_id: first.id };
  fold.apply([stored(3, third)]);
  expect(texts(fold)).toEqual(["one", "three"]);
  expect(fold.versionsOf(third.id)).toEqual([second.id, third.id]);
  expect(fold.parentOf(third.id)).toBe(first.id);
});

test("what a command writes is shown until its result is there", () => {
  const fold = new Fold();
  const action = acts("c9");
  fold.apply([stored(0, action), { type: "output", action_id: action.id, content: "half" }]);
  fold.apply([{ type: "output", action_id: action.id, content: " done" }]);
  expect(fold.view.output[action.id]).toBe("half done");
  fold.apply([stored(1, answers("c9", { kind: "TerminalObservation", exit_code: 0 }))]);
  expect(fold.view.output).toEqual({});
  fold.apply([{ type: "output", action_id: action.id, content: "late" }]);
  expect(fold.view.output, "a piece that comes later than the whole").toEqual({});
});

test("what a command wrote before we came is shown once, and again after the connection was cut", () => {
  const fold = new Fold();
  const action = acts("c10");
  const whole = (content: string) => ({ type: "output" as const, action_id: action.id, content, is_whole: true });
  fold.apply([stored(0, action), whole("early "), { type: "output", action_id: action.id, content: "late" }]);
  expect(fold.view.output[action.id]).toBe("early late");
  fold.apply([{ type: "sync", from_seq: 0, through_seq: 0 }, whole("early late later")]);
  expect(fold.view.output[action.id]).toBe("early late later");
});

test("a very long conversation does not fill the memory, and what was forgotten comes again", () => {
  const fold = new Fold();
  const events = Array.from({ length: 3_500 }, (_, index) => says("agent", `${index}`));
  events.forEach((event, seq) => fold.apply([stored(seq, event)]));
  expect(fold.view.items.length).toBeLessThan(3_001);
  expect(fold.view.hasEarlier).toBe(true);
  const first = fold.earlier ?? 0;
  fold.prepend(page(first - 100, first - 100, ...events.slice(first - 100, first)));
  expect(texts(fold).slice(0, 2)).toEqual([`${first - 100}`, `${first - 99}`]);
  expect(texts(fold).slice(99, 101), "without a gap").toEqual([`${first - 1}`, `${first}`]);
});

test("pieces of a reply that come later than the reply are not shown", () => {
  const fold = new Fold();
  const reply = says("agent", "whole");
  fold.apply([stored(0, reply)]);
  fold.apply([{ type: "delta", item_id: reply.id, attempt: 1, order: 9, kind: "text", content: "ole" }]);
  expect(fold.view.draft).toBeNull();
});

test("what a step has used stands with the first thing that came of it", () => {
  const fold = new Fold();
  const used = (cost: number) => ({ usage_to_metrics: { agent: { accumulated_cost: cost }, "task:1": { accumulated_cost: 9 } } });
  const state = (seq: number, cost: number) => stored(seq, is("stats", used(cost)));
  const message = (seq: number) => stored(seq, says("agent", "word"));
  const { items } = fold.apply([message(0), state(1, 1), message(2), message(3), state(4, 1.5), message(5)]);
  expect(items.map((item) => (item.type === "message" ? item.spent?.cost : null))).toEqual([undefined, 1, undefined, 0.5]);
});

test("a call has the risk that was seen in it, and why", () => {
  const fold = new Fold();
  const action = acts("1");
  const judged: Event = { ...base("environment"), kind: "SecurityAnalysisEvent", risks: { [action.id]: "HIGH" }, details: { [action.id]: "It deletes." } };
  fold.apply([stored(0, action), stored(1, judged)]);
  expect(fold.view.items[0]).toMatchObject({ risk: "HIGH", why: "It deletes." });
});

test("a call of an external agent runs until its end is told, and nobody is asked about it", () => {
  const fold = new Fold();
  const call = (status: string): Event => ({ ...base("agent"), kind: "ACPToolCallEvent", tool_call_id: "c1", title: "Run ls", status });
  fold.apply([stored(0, call("pending"))]);
  expect(openCalls(fold.view)).toEqual([]);
  fold.apply([stored(1, call("completed")), stored(2, call("pending"))]);
  const results = fold.view.items.map((item) => (item.type === "call" ? (item.result?.type ?? null) : item.type));
  expect(results).toEqual(["answer", null]);
});

test("what was added to a result for the agent is part of the answer", () => {
  const refused = "[The sandbox refused a.example:443.]";
  const result = answers("c1", { kind: "TerminalObservation", content: [{ type: "text", text: "failed" }] });
  const fold = new Fold();
  fold.apply([stored(0, acts("c1")), stored(1, { ...result, extended_content: [{ type: "text", text: `\n${refused}` }] } as Event)]);
  const [call] = fold.view.items;
  expect(call?.type === "call" && answerOf(call)).toBe(`failed\n${refused}`);
});
