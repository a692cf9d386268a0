// Commands that skills and plugins bring along: `/name` at the beginning of a message. The server reads them; here they
// are only named.

import { useQuery } from "@tanstack/react-query";
import { ask } from "./ask";
import { visibleControls } from "./plain";

interface Named {
  name: string;
  help: string;
}

const NONE: Named[] = [];

/** Those that count in a folder, or where a conversation works: its folder may be on another machine. */
export function useSkillCommands(folder: string, conversation: string | null, isWanted: boolean): Named[] {
  const found = useQuery({
    queryKey: ["skills", folder, conversation],
    queryFn: async () => {
      const body = { project_dir: folder, conversation_id: conversation };
      const { skills } = await ask("post", "/api/skills", { body });
      return skills.flatMap((skill) => {
        const said = Array.isArray(skill["triggers"]) ? (skill["triggers"] as unknown[]) : [];
        const names = said.filter((word): word is string => typeof word === "string" && /^\/[\w:-]+$/.test(word));
        return names.map((name) => ({ name: name.slice(1), help: visibleControls(skill.description ?? "") }));
      });
    },
    enabled: isWanted && folder !== "",
  });
  return found.data ?? NONE;
}
