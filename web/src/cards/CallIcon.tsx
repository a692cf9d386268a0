import {
  Bot,
  Brain,
  FileDiff,
  FilePen,
  FilePlus,
  FileText,
  Flag,
  Globe,
  ListChecks,
  type LucideIcon,
  Search,
  SquareTerminal,
  Wrench,
} from "lucide-react";
import type { Call } from "../view";

const ICONS: Record<string, LucideIcon> = {
  TerminalAction: SquareTerminal,
  FileEditorAction: FilePen,
  PlanningFileEditorAction: FilePen,
  EditAction: FilePen,
  WriteFileAction: FilePlus,
  ReadFileAction: FileText,
  ListDirectoryAction: FileText,
  ApplyPatchAction: FileDiff,
  GrepAction: Search,
  GlobAction: Search,
  TaskTrackerAction: ListChecks,
  ThinkAction: Brain,
  TaskAction: Bot,
  DelegateAction: Bot,
  FinishAction: Flag,
};

/** What kind of thing was done, at a glance. */
export function CallIcon({ call }: { call: Call }) {
  const { action, tool_name: tool } = call.event;
  const kind = action?.kind ?? "";
  const isRead = kind === "FileEditorAction" && action?.["command"] === "view";
  const Icon = isRead ? FileText : (ICONS[kind] ?? (/^(browser_|fetch)/.test(tool) ? Globe : Wrench));
  return <Icon className="card-icon" />;
}
