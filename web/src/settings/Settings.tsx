import { Blocks, Bot, Cpu, GitBranch, KeyRound, type LucideIcon, Monitor, Server, Shield, Sparkles } from "lucide-react";
import { Dialog } from "../parts/Dialog";
import { type Section, SECTIONS, useScreen } from "../screen";
import { t } from "../words";
import { AgentSettings } from "./AgentSettings";
import { BrowserSettings } from "./BrowserSettings";
import { GitSettings } from "./GitSettings";
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
};

/** What holds for new conversations and for this browser. */
export default function Settings() {
  const section = useScreen((screen) => screen.section);
  const setSection = (section: Section) => useScreen.setState({ section });
  const close = () => useScreen.setState({ dialog: null });
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
  };
  const move = (by: number) => {
    const next = SECTIONS.at((SECTIONS.indexOf(section) + by) % SECTIONS.length) ?? section;
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
          onKeyDown={(event) => {
            if (event.key === "ArrowDown" || event.key === "ArrowRight") move(1);
            else if (event.key === "ArrowUp" || event.key === "ArrowLeft") move(-1);
          }}
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
          {section === "models" && <ModelSettings />}
          {section === "agent" && <AgentSettings />}
          {section === "safety" && <SafetySettings />}
          {section === "mcp" && <McpSettings />}
          {section === "skills" && <SkillSettings />}
          {section === "secrets" && <SecretSettings />}
          {section === "git" && <GitSettings />}
          {section === "server" && <ServerSettings />}
          {section === "browser" && <BrowserSettings onClose={close} />}
        </div>
      </div>
      <div className="row end">
        <button className="primary" onClick={close}>
          {t("Done")}
        </button>
      </div>
    </Dialog>
  );
}
