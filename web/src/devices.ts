// Further devices of one's own: each has a key that is good for less, and for some time.

import { ask } from "./ask";
import type { components } from "./generated/api";
import { t } from "./words";

export type Device = components["schemas"]["Device"];

/** What a device may do. */
export type Rights = "look" | "steer" | "all";

export const rightsWords = (): Record<Rights, string> => ({
  look: t("see conversations"),
  steer: t("see and steer conversations"),
  all: t("everything that I may do"),
});

const SCOPES: Record<Rights, Device["scopes"]> = { look: ["read"], steer: ["read", "write"], all: ["read", "write", "secrets"] };

export const rightsOf = ({ scopes }: Device): Rights => (scopes.includes("secrets") ? "all" : scopes.includes("write") ? "steer" : "look");

export const devices = {
  list: async () => (await ask("get", "/api/devices")).devices,
  /** Lets one in; gives the link that it has to open, which nobody is told again. */
  async pair(rights: Rights, days: number): Promise<string> {
    const { key } = await ask("post", "/api/devices", { body: { scopes: SCOPES[rights], days } });
    return `${location.origin}/#key=${key}`;
  },
  remove: (id: string) => ask("delete", "/api/devices/{key_id}", { path: { key_id: id } }),
};

/** Whether the address of this page means nothing on another machine. */
export const isOnlyHere = (host: string) => /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(host);
