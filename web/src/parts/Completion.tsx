import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, type RefObject, useState } from "react";
import { completed, MARKS, ranked, type Word, wordAt } from "../completion";
import { useSkillCommands } from "../skill-commands";
import { t } from "../words";

/** Names that are offered. */
const MAX_CHOICES = 8;

interface Choice {
  name: string;
  help: string;
}

/** Names that can be written: files of a folder after `@`, commands after `/`, models after `/model`. */
export interface Names {
  /** Whose files they are. */
  scope: string;
  folder: string;
  /** The conversation that works there, if one does already. */
  conversation: string | null;
  /** Commands beside those of skills. */
  commands: readonly Choice[];
  models: readonly Choice[];
  find: (name: string) => Promise<{ items: readonly { name: string; kind: string }[] }>;
}

export interface Completion {
  word: Word | null;
  offered: readonly Choice[];
  chosen: number;
  choose: (choice: Choice | undefined) => void;
  /** The text was changed, or only the caret moved. */
  onCaret: (caret: number, isNewText: boolean) => void;
  /** Whether the key is dealt with; null: Enter, where the name stands there already. */
  onKey: (event: KeyboardEvent) => boolean | null;
}

/** Completes names while a text is written. */
export function useCompletion(
  text: string,
  write: (text: string) => void,
  area: RefObject<HTMLTextAreaElement | null>,
  { scope, folder, conversation, commands, models, find }: Names,
): Completion {
  const [caret, setCaret] = useState(0);
  const [chosen, setChosen] = useState(0);
  const [isDismissed, setDismissed] = useState(false);
  const word = isDismissed ? null : wordAt(text, caret);
  const files = useQuery({
    queryKey: ["files", scope, "named", word?.name],
    queryFn: () => find(word?.name ?? ""),
    enabled: word?.kind === "file" && folder !== "",
    placeholderData: (before) => before,
    retry: false,
  });
  const skills = useSkillCommands(folder, conversation, word?.kind === "command");
  const offered = found().slice(0, MAX_CHOICES);
  const onCaret = (at: number, isNewText: boolean) => {
    setCaret(at);
    if (!isNewText) return;
    setChosen(0);
    setDismissed(false);
  };
  const choose = (choice: Choice | undefined) => {
    if (!word || !choice) return;
    const next = completed(text, caret, word, choice.name);
    write(next.text);
    onCaret(next.caret, true);
    requestAnimationFrame(() => area.current?.setSelectionRange(next.caret, next.caret));
  };
  const onKey = (event: KeyboardEvent): boolean | null => {
    if (offered.length === 0) return false;
    const choice = offered[chosen];
    const step = { ArrowDown: 1, ArrowUp: offered.length - 1 }[event.key];
    if (step) setChosen((chosen + step) % offered.length);
    else if (event.key === "Escape") setDismissed(true);
    else if (event.key === "Tab" || (event.key === "Enter" && word?.name !== choice?.name)) choose(choice);
    else return event.key === "Enter" && !event.shiftKey ? null : false;
    event.preventDefault();
    return true;
  };
  return { word, offered, chosen, choose, onCaret, onKey };

  function found(): readonly Choice[] {
    switch (word?.kind) {
      case "command":
        return ranked([...commands, ...skills], word.name);
      case "model":
        return ranked(models, word.name);
      case "file":
        return (files.data?.items ?? []).map(({ name, kind }) => ({ name: kind === "directory" ? `${name}/` : name, help: "" }));
      case undefined:
        return [];
    }
  }
}

/** What a text area has to say about its completion. */
export const completionProps = ({ offered, chosen }: Completion) => ({
  "aria-autocomplete": "list" as const,
  "aria-controls": offered.length > 0 ? "choices" : undefined,
  "aria-activedescendant": offered.length > 0 ? `choice-${chosen}` : undefined,
});

/** The names that are offered. */
export function Choices({ word, offered, chosen, choose }: Completion) {
  if (offered.length === 0) return null;
  return (
    <ul className="choices" id="choices" role="listbox" aria-label={t("Completions")}>
      {offered.map((choice, index) => (
        <li
          key={choice.name}
          id={`choice-${index}`}
          role="option"
          aria-selected={index === chosen}
          onMouseDown={(event) => {
            event.preventDefault();
            choose(choice);
          }}
        >
          <code>
            {word && MARKS[word.kind]}
            {choice.name}
          </code>{" "}
          <span className="hint">{choice.help}</span>
        </li>
      ))}
    </ul>
  );
}
