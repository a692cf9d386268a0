import { Menu } from "lucide-react";
import { useScreen } from "../screen";
import { t } from "../words";

/** Opens the list of conversations where there is no room for it. */
export function SidebarButton() {
  return (
    <button
      className="sidebar-button quiet icon-only"
      aria-label={t("Show conversations")}
      onClick={() => useScreen.setState({ isSidebarOpen: true })}
    >
      <Menu />
    </button>
  );
}
