import { useQuery } from "@tanstack/react-query";
import { api } from "../api";
import { childOf } from "../children";
import { useDesk } from "../desk";
import { go } from "../route";
import { t } from "../words";

/** Leads to the conversation in which a sub-agent did a task. */
export function ChildLink({ task }: { task: string }) {
  const { id } = useDesk();
  const info = useQuery({ queryKey: ["conversation", id], queryFn: () => api.get(id) });
  const child = childOf(task, info.data?.sub_conversation_ids ?? []);
  return child && <button onClick={() => go(child)}>{t("Open its conversation")}</button>;
}
