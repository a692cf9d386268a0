// Repositories to begin with: those of the git accounts, and how one is brought to the server.

import { ask } from "./ask";
import type { components } from "./generated/api";
import { t } from "./words";

export type Repository = components["schemas"]["AccountRepository"];

/** How often it is asked how far a repository is. */
const LOOK_MS = 400;

const named = (id: string) => ({ path: { clone_id: id } });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export const repositories = {
  /** Those of an account whose names have these words. */
  async of(host: string, words: string): Promise<Repository[]> {
    const given = { path: { host }, query: { query: words, limit: 20 } };
    return (await ask("get", "/api/settings/git_accounts/{host}/repositories", given)).repositories;
  },
  /** Fetches one into a folder of its own, and gives the folder. */
  async bring(address: string, branch: string, onProgress: (line: string) => void, stop: AbortSignal): Promise<string> {
    let now = await ask("post", "/api/git/clones", { body: { address, branch: branch || null } });
    while (now.state === "running") {
      onProgress(now.text);
      await pause(LOOK_MS);
      if (stop.aborted) {
        await ask("delete", "/api/git/clones/{clone_id}", named(now.id));
        throw new Error(t("It was stopped."));
      }
      now = await ask("get", "/api/git/clones/{clone_id}", named(now.id));
    }
    if (now.state === "failed") throw new Error(now.text);
    return now.folder;
  },
};

/** What to search for: nothing, while an address is written. */
export const wordsOf = (written: string) => (/[:@]|\/\//.test(written) ? "" : written.trim());

/** Those of a list that go with what is written. */
export function fitting(all: readonly Repository[], written: string): Repository[] {
  const words = wordsOf(written).toLowerCase();
  return all.filter(({ name }) => name.toLowerCase().includes(words));
}
