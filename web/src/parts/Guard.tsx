import { Component, type ReactNode } from "react";
import { t } from "../words";

/** Keeps a fault of one part from taking the whole page with it. */
export class Guard extends Component<{ children: ReactNode }, { fault: string | null }> {
  override state: { fault: string | null } = { fault: null };

  static getDerivedStateFromError(error: unknown) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }

  override render() {
    if (this.state.fault === null) return this.props.children;
    return (
      <p role="alert" className="problem">
        {t("This part of the app has failed: {fault}. Reload the page.", { fault: this.state.fault })}
      </p>
    );
  }
}
