import type { Folder } from "../folders";
import { visibleControls } from "../plain";
import { t } from "../words";

/** The way to a folder; each step of it can be gone back to. */
export function Crumbs({ way, onGo }: { way: readonly Folder[]; onGo: (path: string) => void }) {
  return (
    <nav className="crumbs" aria-label={t("Folder")}>
      {way.map(({ name, path }, index) => (
        <span key={path}>
          {index > 0 && "/"}
          <button type="button" className="quiet" onClick={() => onGo(path)}>
            {visibleControls(name)}
          </button>
        </span>
      ))}
    </nav>
  );
}
