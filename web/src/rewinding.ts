// The way back from a way back.

import { create } from "zustand";
import { createJSONStorage, persist } from "zustand/middleware";
import { api } from "./api";
import { visibleControls } from "./plain";
import { t } from "./words";
import { workspace } from "./workspace";

/** What brings back what was rewound. */
export interface WayBack {
  /** The files as they were; null: they were left alone. */
  checkpoint: number | null;
  /** Where the conversation stood; null: it stands there still. */
  leaf: string | null;
}

/** The last way back of each conversation, until the agent goes on from there. It survives a reload, but not the tab. */
export const useRewound = create<Record<string, WayBack | null>>()(
  persist((): Record<string, WayBack | null> => ({}), { name: "deft.rewound", storage: createJSONStorage(() => sessionStorage) }),
);

export const setRewound = (id: string, way: WayBack | null) => useRewound.setState({ [id]: way });

type Failures = Awaited<ReturnType<typeof workspace.restore>>["failed"];

/** Which files could not be put back, and why. */
export const failureWords = (failed: Failures) =>
  t("These files could not be put back: {files}", {
    files: failed.map(({ path, reason }) => visibleControls(`${path} (${reason})`)).join(", "),
  });

/** Brings it back. What somebody edited since is not overwritten. */
export async function takeBack(id: string, { checkpoint, leaf }: WayBack): Promise<void> {
  const failed = checkpoint === null ? [] : (await workspace.restore(id, checkpoint, false)).failed;
  if (leaf !== null) await api.navigate(id, leaf);
  if (failed.length > 0) throw new Error(failureWords(failed));
  setRewound(id, null);
}
