// Where a repository is shared: accounts at forges, pushes and pull requests.

import { type Answer, ask, on } from "./ask";
import type { components } from "./generated/api";

export type ForgeKind = components["schemas"]["ForgeKind"];
export type Remote = Answer<"get", "/api/conversations/{conversation_id}/git/remote">;

/** A remote that something can be pushed to. */
export interface Target {
  path: string;
  host: string;
  repository: string;
}

export const FORGES: Record<ForgeKind, string> = { github: "GitHub", gitlab: "GitLab", gitea: "Gitea, Forgejo" };

export const forge = {
  accounts: async () => (await ask("get", "/api/settings/git_accounts")).accounts,
  saveAccount: (address: string, kind: ForgeKind, token: string) =>
    ask("put", "/api/settings/git_accounts", { body: { address, kind, token } }),
  removeAccount: (host: string) => ask("delete", "/api/settings/git_accounts/{host}", { path: { host } }),

  remote: (id: string, path: string) =>
    ask("get", "/api/conversations/{conversation_id}/git/remote", { ...on(id), query: { path }, isLong: true }),
  push: (id: string, target: Target) =>
    ask("post", "/api/conversations/{conversation_id}/git/push", { ...on(id), body: { ...target }, isLong: true }),
  /** Gives the address of its page. */
  async openPullRequest(id: string, target: Target, title: string, text: string): Promise<string> {
    const { url } = await ask("post", "/api/conversations/{conversation_id}/git/pull_request", {
      ...on(id),
      body: { ...target, title, text },
      isLong: true,
    });
    if (!/^https?:\/\//.test(url)) throw new Error(url); // nothing else is made a link
    return url;
  },
};
