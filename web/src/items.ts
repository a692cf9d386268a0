// Everything that happened, on all branches, in the order of the log. Results find their calls here, whichever is loaded
// first.

import type { Call, Item, Result } from "./view";

/** More items than this are not held; the earliest are forgotten, and loaded again when somebody looks. */
const MAX_ITEMS = 3_000;
const KEPT_ITEMS = 2_000;
/** So far behind its call a result may stand. */
const NEAR = 20;

export class Items {
  private all: Item[] = [];
  /** The action of a call. */
  private readonly places = new Map<string, string>();
  /** Results whose calls are not loaded yet. */
  private readonly orphans = new Map<string, Result>();
  /** Where items stand in the log. */
  private readonly seqs = new Map<string, number>();
  /** Whether anything has changed since it was last shown. */
  areNew = false;

  /** Those on a way through the tree; without one, all. */
  on(way: ReadonlySet<string> | null): Item[] {
    this.areNew = false;
    return way ? this.all.filter((item) => way.has(item.id)) : this.all.slice();
  }

  filter(wanted: (item: Item) => boolean): Item[] {
    return this.all.filter(wanted);
  }

  add(item: Item, seq: number): void {
    this.all.push(item);
    this.seqs.set(item.id, seq);
    if (item.type === "call") this.places.set(item.event.tool_call_id, item.id);
    this.areNew = true;
  }

  change(id: string, change: (call: Call) => Call): void {
    const place = this.all.findLastIndex((item) => item.id === id);
    const call = this.all[place];
    if (call?.type !== "call") return;
    this.all[place] = change(call);
    this.areNew = true;
  }

  /** Whether a call has its result. */
  isSettled(id: string): boolean {
    const call = this.all.findLast((item) => item.id === id);
    return call?.type === "call" && call.result !== null;
  }

  /** Whether there is a call of this id without a result. */
  isOpen(toolCall: string): boolean {
    const action = this.places.get(toolCall);
    return action !== undefined && !this.isSettled(action);
  }

  /** Gives a call its result. The action it belongs to; null: its call is not loaded. */
  settle(toolCall: string, result: Result): string | null {
    const action = this.places.get(toolCall);
    if (action === undefined) {
      this.orphans.set(toolCall, result);
      return null;
    }
    this.change(action, (call) => ({ ...call, result }));
    return action;
  }

  /** Puts what came earlier before it. */
  prepend(earlier: Items): void {
    this.all = [...earlier.all.map((item) => this.withResult(item)), ...this.all];
    for (const [call, result] of earlier.orphans) this.orphans.set(call, result);
    for (const [call, action] of earlier.places) this.places.set(call, action);
    for (const [id, seq] of earlier.seqs) this.seqs.set(id, seq);
    this.areNew = true;
  }

  private withResult(item: Item): Item {
    const result = item.type === "call" && !item.result ? this.orphans.get(item.event.tool_call_id) : undefined;
    if (item.type !== "call" || !result) return item;
    this.orphans.delete(item.event.tool_call_id);
    return { ...item, result };
  }

  /** Forgets the earliest of too many; where the first of those that are left stands, if there were. */
  shorten(): { id: string; seq: number | undefined } | null {
    if (this.all.length <= MAX_ITEMS) return null;
    const gone = this.all.splice(0, this.all.length - KEPT_ITEMS);
    for (const [place, item] of gone.entries()) {
      this.seqs.delete(item.id);
      if (item.type !== "call") continue;
      this.places.delete(item.event.tool_call_id);
      if (item.result && place >= gone.length - NEAR) this.orphans.set(item.event.tool_call_id, item.result);
    }
    this.areNew = true;
    const first = this.all[0];
    return first ? { id: first.id, seq: this.seqs.get(first.id) } : null;
  }
}
