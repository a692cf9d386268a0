// What becomes of the files of a conversation that is deleted.

import { placeOf } from "./folders";
import { nameOf } from "./name";
import type { Conversation } from "./wire";
import { t } from "./words";

/** What there will no longer be, and what stays. */
export function whatGoes(conversation: Conversation): string {
  const name = nameOf(conversation);
  const place = placeOf(conversation);
  const gone = () =>
    t("“{name}” will be gone, with what is running in it and the files of its workspace, {place}.", { name, place });
  const kept = (folder: string) =>
    t("“{name}” and what is running in it will be gone. The files in {folder} stay.", { name, folder });
  const [, kind, query = ""] = /^(docker|k8s|remote):[^?]*(?:\?(.*))?$/s.exec(place) ?? [];
  const options = new URLSearchParams(query);
  const volume = options.get("volume");
  switch (kind) {
    case "docker":
      if (volume === "") return gone();
      return kept(volume ?? options.get("dir") ?? place);
    case "k8s": {
      const claim = options.get("claim");
      return claim === null ? gone() : kept(claim);
    }
    case "remote":
      return options.has("sandbox") ? gone() : kept(place);
    default:
      return kept(conversation.workspace.working_dir);
  }
}
