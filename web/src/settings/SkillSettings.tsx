import { useQuery } from "@tanstack/react-query";
import { visibleControls } from "../plain";
import { t } from "../words";
import { PackageSettings } from "./PackageSettings";
import { server } from "./server";

/** The skills that the server knows of, and the packages that bring some. */
export function SkillSettings() {
  const skills = useQuery({ queryKey: ["skills"], queryFn: server.skills });
  const all = skills.data?.skills ?? [];
  return (
    <>
      <p className="hint">
        {t("Skills are instructions in files: SKILL.md in a folder of its own, under .agents/skills in a project or in your home directory.")}
      </p>
      {skills.isError && (
        <p role="alert" className="problem">
          {skills.error.message}
        </p>
      )}
      {skills.isSuccess && all.length === 0 && <p className="hint">{t("There are none yet.")}</p>}
      <ul className="list">
        {all.map((skill) => (
          <li key={skill.name}>
            <strong>{visibleControls(skill.name)}</strong> <span className="hint">{visibleControls(skill.description ?? "")}</span>
          </li>
        ))}
      </ul>
      <PackageSettings kind="skills" title={t("Installed skills")} />
      <PackageSettings kind="plugins" title={t("Installed plugins")} />
    </>
  );
}
