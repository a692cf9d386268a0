import { Blocks, Bot, Cpu, GitBranch, Keyboard, KeyRound, type LucideIcon, Monitor, Server, Shield, Sparkles } from "lucide-react";
import { Activity, type KeyboardEvent, type ReactNode, useEffect, useState } from "react";
import { Dialog } from "../parts/Dialog";
import { type Section, SECTIONS, useScreen } from "../screen";
import { stepTo } from "../steps";
import { t } from "../words";
import { AgentSettings } from "./AgentSettings";
import { BrowserSettings } from "./BrowserSettings";
import { GitSettings } from "./GitSettings";
import { KeySettings } from "./KeySettings";
import { McpSettings } from "./McpSettings";
import { ModelSettings } from "./ModelSettings";
import { SafetySettings } from "./SafetySettings";
import { SecretSettings } from "./SecretSettings";
import { ServerSettings } from "./ServerSettings";
import { SkillSettings } from "./SkillSettings";

const ICONS: Record<Section, LucideIcon> = {
  models: Cpu,
  agent: Bot,
  safety: Shield,
  mcp: Blocks,
  skills: Sparkles,
  secrets: KeyRound,
  git: GitBranch,
  server: Server,
  browser: Monitor,
  keys: Keyboard,
};

/** What holds for new conversations and for this browser. */
export default function Settings() {
  const section = useScreen((screen) => screen.section);
  const setSection = (section: Section) => useScreen.setState({ section });
  const close = () => useScreen.setState({ dialog: null });
  /** Those that were looked at keep what was written in them. */
  const [seen, setSeen] = useState<ReadonlySet<Section>>(new Set());
  if (!seen.has(section)) setSeen(new Set([...seen, section]));
  // The browser would choose the first part, which may be another one.
  useEffect(() => document.getElementById(`section-${section}`)?.focus(), []);
  // All parts are scrolled in one place; each is read from its beginning.
  useEffect(() => document.getElementById("section")?.scrollTo(0, 0), [section]);
  const contents: Record<Section, ReactNode> = {
    models: <ModelSettings />,
    agent: <AgentSettings />,
    safety: <SafetySettings />,
    mcp: <McpSettings />,
    skills: <SkillSettings />,
    secrets: <SecretSettings />,
    git: <GitSettings />,
    server: <ServerSettings />,
    browser: <BrowserSettings onClose={close} />,
    keys: <KeySettings />,
  };
  const words: Record<Section, string> = {
    models: t("Models"),
    agent: t("Agent"),
    safety: t("Safety"),
    mcp: t("MCP servers"),
    skills: t("Skills"),
    secrets: t("Secrets"),
    git: t("Git accounts"),
    server: t("Server"),
    browser: t("This browser"),
    keys: t("Keyboard"),
  };
  const move = (event: KeyboardEvent) => {
    const next = SECTIONS[stepTo(event.key, SECTIONS.indexOf(section), SECTIONS.length) ?? -1];
    if (!next) return;
    event.preventDefault();
    setSection(next);
    document.getElementById(`section-${next}`)?.focus();
  };
  return (
    <Dialog title={t("Settings")} onClose={close} isWide>
      <div className="settings">
        <div
          className="sections"
          role="tablist"
          aria-orientation="vertical"
          aria-label={t("Settings")}
          onKeyDown={move}
        >
          {SECTIONS.map((each) => {
            const Icon = ICONS[each];
            return (
              <button
                key={each}
                id={`section-${each}`}
                role="tab"
                aria-selected={each === section}
                aria-controls="section"
                tabIndex={each === section ? 0 : -1}
                onClick={() => setSection(each)}
              >
                <Icon /> {words[each]}
              </button>
            );
          })}
        </div>
        <div className="section" id="section" role="tabpanel" aria-labelledby={`section-${section}`} tabIndex={0}>
          {SECTIONS.filter((each) => seen.has(each)).map((each) => (
            <Activity key={each} mode={each === section ? "visible" : "hidden"}>
              {contents[each]}
            </Activity>
          ))}
        </div>
      </div>
      <div className="row end">
        <button onClick={close}>{t("Done")}</button>
      </div>
    </Dialog>
  );
}
