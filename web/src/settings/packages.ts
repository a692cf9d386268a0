// Packages of skills and of plugins: both kinds have the same requests under other names.

import { ask } from "../ask";
import type { components } from "../generated/api";

export type PackageKind = "skills" | "plugins";
export type Package = components["schemas"]["Package"];

const skill = (name: string) => ({ path: { skill_name: name } });
const plugin = (name: string) => ({ path: { plugin_name: name } });

export const packages = {
  list: async (kind: PackageKind): Promise<Package[]> =>
    kind === "skills"
      ? (await ask("get", "/api/skills/installed")).skills
      : (await ask("get", "/api/plugins/installed")).plugins,
  install(kind: PackageKind, source: string, path: string): Promise<unknown> {
    const given = { body: { source, repo_path: path || null }, isLong: true as const };
    return kind === "skills" ? ask("post", "/api/skills/install", given) : ask("post", "/api/plugins/install", given);
  },
  enable: (kind: PackageKind, name: string, enabled: boolean): Promise<unknown> =>
    kind === "skills"
      ? ask("patch", "/api/skills/installed/{skill_name}", { ...skill(name), body: { enabled } })
      : ask("patch", "/api/plugins/installed/{plugin_name}", { ...plugin(name), body: { enabled } }),
  refresh: (kind: PackageKind, name: string): Promise<unknown> =>
    kind === "skills"
      ? ask("post", "/api/skills/installed/{skill_name}/refresh", { ...skill(name), isLong: true })
      : ask("post", "/api/plugins/installed/{plugin_name}/refresh", { ...plugin(name), isLong: true }),
  remove: (kind: PackageKind, name: string): Promise<unknown> =>
    kind === "skills"
      ? ask("delete", "/api/skills/installed/{skill_name}", skill(name))
      : ask("delete", "/api/plugins/installed/{plugin_name}", plugin(name)),
};
