import { memo } from "react";
import type { Evidence } from "../evidence";
import { Markdown } from "../parts/Markdown";
import type { Item } from "../view";
import type { Status } from "../wire";
import { CallCard } from "./CallCard";
import { EvidenceNote } from "./EvidenceNote";
import { FailureCard } from "./FailureCard";
import { MessageCard } from "./MessageCard";

interface Props {
  item: Item;
  isLast: boolean;
  /** Where the agent works. */
  folder: string;
  /** What an open call has written so far. */
  output: string | undefined;
  /** Of the conversation. */
  status: Status;
  /** Where the work ends: how it was tried. */
  evidence: Evidence | null;
}

/** One thing that happened. */
export const ItemCard = memo(function ItemCard({ item, isLast, folder, output, status, evidence }: Props) {
  switch (item.type) {
    case "message":
      return (
        <>
          <MessageCard message={item} />
          {evidence && <EvidenceNote evidence={evidence} />}
        </>
      );
    case "call":
      return (
        <>
          <CallCard call={item} folder={folder} output={output} status={status} />
          {evidence && <EvidenceNote evidence={evidence} />}
        </>
      );
    case "note":
      return item.more ? (
        <details className="note">
          <summary>{item.text}</summary>
          <Markdown text={item.more} />
        </details>
      ) : (
        <p className="note">{item.text}</p>
      );
    case "failure":
      return <FailureCard failure={item} isLast={isLast} />;
  }
});
