import { useMutation, useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { useState } from "react";
import { api } from "../api";
import { offeredCommands } from "../commands";
import { MAX_PAGES, usePages } from "../conversations";
import { nameOf } from "../name";
import { usePreferences } from "../preferences";
import { useProfiles } from "../profiles";
import { themeWords } from "../themes";
import { go, useRoute } from "../route";
import { useScreen } from "../screen";
import { t } from "../words";
import { beginsHere, Dialog } from "./Dialog";

/** Everything that can be done, by name. */
export default function Palette() {
  const [search, setSearch] = useState("");
  const { items } = usePages(search ? MAX_PAGES : 1);
  const current = useRoute();
  const open = useQuery({
    queryKey: ["conversation", current],
    queryFn: () => (current ? api.get(current) : null),
    retry: false,
  });
  const profiles = useProfiles();
  // What was chosen may have opened another dialog.
  const close = () => useScreen.setState(({ dialog }) => (dialog === "palette" ? { dialog: null } : {}));
  // What fails says so here.
  const act = useMutation({ mutationFn: async (run: () => unknown) => run(), onSuccess: close });
  const command = (name: string, run: () => unknown) => (
    <Command.Item key={name} onSelect={() => act.mutate(run)}>
      {name}
    </Command.Item>
  );
  return (
    <Dialog title={t("Commands")} isBare onClose={close}>
      <Command label={t("Commands")} loop>
        <Command.Input ref={beginsHere} placeholder={t("What next?")} value={search} onValueChange={setSearch} />
        {act.error && (
          <p role="alert" className="problem">
            {act.error.message}
          </p>
        )}
        {/* A list may hold nothing but what can be chosen. */}
        <div role="status">
          <Command.Empty>{t("Nothing by that name.")}</Command.Empty>
        </div>
        <Command.List label={t("Commands")}>
          <Command.Group heading={t("Do")}>
            {command(t("New conversation"), () => go(null))}
            {current &&
              offeredCommands(current, open.data?.execution_status === "running")
                .filter(({ needsWords }) => !needsWords)
                .map(({ help, run }) => command(help, () => run(current, "")))}
            {current &&
              profiles.map(({ name }) => command(t("Switch model: {name}", { name }), () => api.switchProfile(current, name)))}
            {command(t("Keyboard map"), () => useScreen.setState({ dialog: "keys" }))}
            {command(t("Settings"), () => useScreen.setState({ dialog: "settings" }))}
            {(["light", "dark", "system"] as const).map((theme) =>
              command(t("Appearance: {theme}", { theme: themeWords()[theme] }), () => usePreferences.setState({ theme })),
            )}
          </Command.Group>
          <Command.Group heading={t("Conversations")}>
            {items.map((conversation) => (
              <Command.Item
                key={conversation.id}
                value={`${nameOf(conversation)} ${conversation.id}`}
                onSelect={() => {
                  close();
                  go(conversation.id);
                }}
              >
                {nameOf(conversation)}
              </Command.Item>
            ))}
          </Command.Group>
        </Command.List>
      </Command>
    </Dialog>
  );
}
