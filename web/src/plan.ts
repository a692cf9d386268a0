// An agent that only plans until its plan is approved. The stream does not tell of it.

import { useQuery } from "@tanstack/react-query";
import { ask, on } from "./ask";
import type { components } from "./generated/api";
import type { Status } from "./wire";
import { workspace } from "./workspace";

export type Mode = components["schemas"]["Mode"];

export interface PlanFile {
  path: string;
  text: string;
}

/** Where a plan may be, in the order in which the agent looks for it. */
export const placesOf = (folder: string) => [`${folder}/PLAN.md`, `${folder}/.agents_tmp/PLAN.md`];

export const plan = {
  mode: async (id: string) => (await ask("get", "/api/conversations/{conversation_id}/plan", on(id))).mode,
  setMode: (id: string, mode: Mode) => ask(mode === "plan" ? "post" : "delete", "/api/conversations/{conversation_id}/plan", on(id)),
  approve: (id: string) => ask("post", "/api/conversations/{conversation_id}/plan/approve", on(id)),
  /** The plan, if there is one. */
  async read(id: string, folder: string): Promise<PlanFile | null> {
    for (const path of placesOf(folder)) {
      const text = await workspace.read(id, path).then(
        (file) => file.text(),
        () => null,
      );
      if (text !== null) return { path, text };
    }
    return null;
  },
  write: (id: string, { path, text }: PlanFile) => workspace.write(id, path, new Blob([text])),
};

export const modeKey = (id: string) => ["mode", id];

/** Whether the agent works or plans; looked at again when the status changes. */
export function useMode(id: string, status: Status): Mode {
  const found = useQuery({ queryKey: [...modeKey(id), status], queryFn: () => plan.mode(id), placeholderData: (before) => before });
  return found.data ?? "act";
}
