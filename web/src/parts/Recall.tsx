import { useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { api } from "../api";
import { visibleControls } from "../plain";
import { t } from "../words";
import { beginsHere, Dialog } from "./Dialog";

/** Finds what was said before in a conversation, to say it again. */
export default function Recall({ id, onChoose, onClose }: { id: string; onChoose: (text: string) => void; onClose: () => void }) {
  const said = useQuery({ queryKey: ["said", id], queryFn: () => api.ownMessages(id), gcTime: 0 });
  return (
    <Dialog title={t("What you said before")} isBare onClose={onClose}>
      <Command label={t("What you said before")} loop>
        <Command.Input ref={beginsHere} placeholder={t("Search what you said before")} />
        {said.error && (
          <p role="alert" className="problem">
            {said.error.message}
          </p>
        )}
        <div role="status">{!said.isPending && <Command.Empty>{t("Nothing found.")}</Command.Empty>}</div>
        <Command.List label={t("What you said before")}>
          {said.data?.map((text, index) => (
            <Command.Item
              key={index}
              value={`${text} ${index}`}
              onSelect={() => {
                onChoose(text);
                onClose();
              }}
            >
              <span className="said-before">{visibleControls(text)}</span>
            </Command.Item>
          ))}
        </Command.List>
      </Command>
    </Dialog>
  );
}
