import { memo } from "react";
import type { Item } from "../fold";
import { Markdown } from "../parts/Markdown";
import { CallCard } from "./CallCard";
import { FailureCard } from "./FailureCard";
import { Images } from "./Images";

/** One thing that happened. */
export const ItemCard = memo(function ItemCard({ item, isLast }: { item: Item; isLast: boolean }) {
  switch (item.type) {
    case "message":
      return (
        <article className={`message from-${item.from}`} aria-label={item.from === "user" ? "You" : "Agent"}>
          <Markdown text={item.text} />
          <Images urls={item.images} />
        </article>
      );
    case "call":
      return <CallCard call={item} />;
    case "note":
      return <p className="note">{item.text}</p>;
    case "failure":
      return <FailureCard failure={item} isLast={isLast} />;
  }
});
