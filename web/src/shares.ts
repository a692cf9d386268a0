// Links that show a conversation to whoever has them.

import { type Answer, ask, on, request } from "./ask";
import type { components } from "./generated/api";
import { SHARED_PATH } from "./route";

export type Share = components["schemas"]["Share"];

export const shares = {
  list: async (id: string) => (await ask("get", "/api/conversations/{conversation_id}/shares", on(id))).shares,
  /** Makes a link that is good for so many seconds, or for ever; gives its address, which nobody is told again. */
  async create(id: string, seconds: number | null): Promise<string> {
    const { token } = await ask("post", "/api/conversations/{conversation_id}/shares", {
      ...on(id),
      body: { expires_in: seconds },
    });
    return `${location.origin}${SHARED_PATH}#${token}`;
  },
  revoke: (id: string, share: string) =>
    ask("delete", "/api/conversations/{conversation_id}/shares/{share_id}", {
      path: { conversation_id: id, share_id: share },
    }),
  /** What a link opens. */
  async open(token: string): Promise<Answer<"get", "/api/shared">> {
    return (await request("/api/shared", { headers: { "X-Share-Token": token } })).json();
  },
};
