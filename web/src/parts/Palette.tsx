import { Command } from "cmdk";
import { usePreferences } from "../preferences";
import { go } from "../route";
import { useScreen } from "../screen";
import { Dialog } from "./Dialog";
import { nameOf, useConversations } from "./Sidebar";

/** Everything that can be done, by name. */
export default function Palette() {
  const list = useConversations();
  const close = () => useScreen.setState({ dialog: null });
  const command = (name: string, run: () => void) => (
    <Command.Item
      key={name}
      onSelect={() => {
        close();
        run();
      }}
    >
      {name}
    </Command.Item>
  );
  return (
    <Dialog title="Commands" isBare onClose={close}>
      <Command label="Commands" loop>
        <Command.Input autoFocus placeholder="What next?" />
        <Command.List>
          <Command.Empty>Nothing of that name.</Command.Empty>
          <Command.Group heading="Do">
            {command("New conversation", () => go(null))}
            {command("Show or hide changes", () =>
              useScreen.setState(({ isPanelOpen }) => ({ isPanelOpen: !isPanelOpen })),
            )}
            {command("Settings", () => useScreen.setState({ dialog: "settings" }))}
            {(["light", "dark", "system"] as const).map((theme) =>
              command(`Appearance: ${theme}`, () => usePreferences.setState({ theme })),
            )}
          </Command.Group>
          <Command.Group heading="Conversations">
            {list.data?.pages
              .flatMap((page) => page.items)
              .map((conversation) => (
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
