/** How many lines come and go. */
export function Counts({ added, removed }: { added: number; removed: number }) {
  return (
    <span className="outcome counts">
      <span className={added > 0 ? "good" : "neutral"}>+{added}</span>{" "}
      <span className={removed > 0 ? "bad" : "neutral"}>−{removed}</span>
    </span>
  );
}
