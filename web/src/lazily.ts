// Parts of the app that are loaded when they are needed.

import { type ComponentType, lazy, type LazyExoticComponent } from "react";

/** How long to wait before a part that could not be loaded is tried again: a network that was cut is often soon back. */
const WAITS_MS = [300, 1_500];

/** A part that is tried again before it fails, which then a guard has to show. */
export function lazily<P>(load: () => Promise<{ default: ComponentType<P> }>): LazyExoticComponent<ComponentType<P>> {
  return lazy(async () => {
    for (const wait of WAITS_MS) {
      try {
        return await load();
      } catch {
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
    return load();
  });
}
