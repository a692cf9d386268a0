// The log as a tree: each event follows another, and the conversation stands at one of them. What is shown is the
// way to that one. Loaded is only a part of the log, its end; more is put before it page by page.

import type { Event } from "./wire";

/** News of the state are no part of the tree. */
export const isNode = (event: Event) => event.kind !== "ConversationStateUpdateEvent";

export class Tree {
  /** Ids in the order of the log. */
  private order: string[] = [];
  private readonly parents = new Map<string, string | null | undefined>();
  /** Where the conversation stands; undefined: nobody said otherwise than at the end. */
  private head: string | null | undefined;
  private isBranched = false;

  has(id: string): boolean {
    return this.parents.has(id);
  }

  get first(): string | undefined {
    return this.order[0];
  }

  /** The event that this one follows. */
  parent(id: string): string | null {
    return this.parents.get(id) ?? this.order[this.order.indexOf(id) - 1] ?? null;
  }

  /** Adds an event behind all others; whether another way is shown from now on. */
  add(id: string, parent: string | undefined): boolean {
    const last = this.order.at(-1);
    const leaves = this.head !== undefined && this.head !== last;
    const turns = parent !== undefined && last !== undefined && parent !== last;
    this.order.push(id);
    this.parents.set(id, parent);
    this.head = undefined;
    this.isBranched ||= turns;
    return leaves || turns;
  }

  /** Puts what came earlier before it. */
  prepend(earlier: Tree): void {
    const [last, first] = [earlier.order.at(-1), this.order[0]];
    const parent = first === undefined ? undefined : this.parents.get(first);
    this.isBranched ||= earlier.isBranched || (last !== undefined && parent != null && parent !== last);
    if (first === undefined) this.head ??= earlier.head;
    this.order = [...earlier.order, ...this.order];
    for (const [id, of] of earlier.parents) this.parents.set(id, of);
  }

  /** Forgets what stands before an event. */
  forgetBefore(id: string): void {
    const place = this.order.indexOf(id);
    for (const gone of this.order.splice(0, Math.max(0, place))) this.parents.delete(gone);
  }

  /** Stands elsewhere; whether that is news. */
  move(head: string | null): boolean {
    const before = this.standing;
    this.head = head;
    return before !== head;
  }

  /** The event at which the conversation stands. */
  get standing(): string | null {
    return this.head === undefined ? (this.order.at(-1) ?? null) : this.head;
  }

  /** Whether that is the last one. */
  get isAtEnd(): boolean {
    return this.head === undefined || this.head === this.order.at(-1);
  }

  /** Whether that event is none of those that are loaded. */
  get standsElsewhere(): boolean {
    return typeof this.head === "string" && !this.has(this.head);
  }

  /** The way to where the conversation stands, as far as it is loaded; null: that is everything. */
  way(): Set<string> | null {
    const last = this.order.at(-1);
    const head = this.head === undefined ? last : this.head;
    if (!this.isBranched && head === last) return null;
    const way = new Set<string>();
    if (this.standsElsewhere) return way;
    for (let next: string | null = head ?? null; next !== null && !way.has(next); next = this.known(next)) way.add(next);
    return way;
  }

  private known(id: string): string | null {
    const parent = this.parent(id);
    return parent !== null && this.has(parent) ? parent : null;
  }

  /** The last event of those that came of this one. */
  leafOf(id: string): string {
    const after = new Set([id]);
    let leaf = id;
    for (const next of this.order.slice(this.order.indexOf(id) + 1)) {
      const parent = this.parent(next);
      if (parent !== null && after.has(parent)) after.add((leaf = next));
    }
    return leaf;
  }
}
