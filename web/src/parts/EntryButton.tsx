import type { LucideIcon } from "lucide-react";
import type { ButtonHTMLAttributes, ReactNode } from "react";
import { visibleControls } from "../plain";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon: LucideIcon;
  name: string;
  /** What stands behind the name. */
  children?: ReactNode;
}

/** One thing of a list to choose from: a file, a folder, a repository. */
export function EntryButton({ icon: Icon, name, children, ...rest }: Props) {
  return (
    <button type="button" {...rest}>
      <Icon className="entry-kind" />
      <span className="entry-title">{visibleControls(name)}</span>
      {children}
    </button>
  );
}
