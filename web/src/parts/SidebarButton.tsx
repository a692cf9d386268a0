import { useScreen } from "../screen";

/** Opens the list of conversations where there is no room for it. */
export function SidebarButton() {
  return (
    <button
      className="sidebar-button"
      aria-label="Show conversations"
      onClick={() => useScreen.setState({ isSidebarOpen: true })}
    >
      ☰
    </button>
  );
}
