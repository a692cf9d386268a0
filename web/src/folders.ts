// The folders of the server's machine that conversations may work in.

import { ask, Refused } from "./ask";
import type { Conversation } from "./wire";
import { t } from "./words";

export interface Folder {
  name: string;
  path: string;
}

const isFolder = (found: unknown): found is Folder =>
  typeof (found as Folder | null)?.name === "string" && typeof (found as Folder).path === "string";

export const folders = {
  /** Where looking around may begin. */
  async roots(): Promise<Folder[]> {
    const { locations = [] } = await ask("get", "/api/file/home");
    return locations.flatMap((place) => {
      const { label: name, path } = place as { label?: unknown; path?: unknown };
      const found = { name, path };
      return isFolder(found) ? [found] : [];
    });
  },
  /** The folder that is meant: `~` is the home on the server. Any other name would be looked for, and made, beside whatever
   * folder the server was started in. */
  async meant(written: string): Promise<string> {
    const path = written.trim();
    if (path.startsWith("/") || isWorkspaceName(path)) return path;
    if (!/^~(?:\/|$)/.test(path)) throw new Error(t("“{path}” is no whole path. Begin it with / or ~.", { path }));
    const { home } = await ask("get", "/api/file/home");
    return home + path.slice(1);
  },
  /** Whether there is no such folder yet. Of one that is none of those to look around in nobody knows. */
  async isMissing(written: string): Promise<boolean> {
    const path = await this.meant(written);
    if (isWorkspaceName(path) || wayTo(path, await this.roots()).length === 0) return false;
    const found = this.within(path, null).then(() => false);
    return found.catch((error: unknown) => error instanceof Refused && error.status === 404);
  },
  /** Files and folders below a folder whose names have this in them. */
  named: (path: string, name: string) => ask("get", "/api/file/search_entries", { query: { path, name, limit: 30 } }),
  /** The folders in a folder, by pages. */
  async within(path: string, page: string | null): Promise<{ folders: Folder[]; next: string | null }> {
    const { items, next_page_id: next } = await ask("get", "/api/file/search_subdirs", {
      query: { path, page_id: page, limit: 100 },
    });
    return { folders: (items as unknown[]).filter(isFolder), next: next ?? null };
  },
};

/** Whether this is no folder but the name of a workspace, which only the server can read. */
export const isWorkspaceName = (written: string) => /^(?:docker|k8s|ssh|sandbox|local|remote):/.test(written);

/** What a person writes to work in the place of a conversation again. */
export function placeOf({ workspace: { working_dir: folder, name } }: Conversation): string {
  return typeof name === "string" && isWorkspaceName(name) ? name : folder;
}

/** The folders on the way from the root that holds it to a folder, itself included; empty: no root holds it. */
export function wayTo(path: string, roots: readonly Folder[]): Folder[] {
  const holds = (root: string) => path === root || path.startsWith(root.endsWith("/") ? root : `${root}/`);
  const root = roots.filter(({ path }) => holds(path)).toSorted((one, other) => other.path.length - one.path.length)[0];
  if (!root) return [];
  const way = [root];
  for (const name of path.slice(root.path.length).split("/").filter(Boolean)) {
    const last = way.at(-1)?.path ?? "";
    way.push({ name, path: `${last.endsWith("/") ? last : `${last}/`}${name}` });
  }
  return way;
}
