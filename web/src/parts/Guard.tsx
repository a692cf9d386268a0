import { Component, type ReactNode } from "react";
import { t } from "../words";

interface Props {
  children: ReactNode;
  /** What is shown in the place of a part that failed; without it, what happened. */
  instead?: (words: string) => ReactNode;
}

/** Keeps a fault of one part, which may be that it cannot be loaded, from taking the whole page with it. */
export class Guard extends Component<Props, { fault: string | null }> {
  override state: { fault: string | null } = { fault: null };

  static getDerivedStateFromError(error: unknown) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }

  override render() {
    if (this.state.fault === null) return this.props.children;
    const words = t("This part of the app has failed: {fault}. Reload the page.", { fault: this.state.fault });
    return this.props.instead ? this.props.instead(words) : <Failed words={words} />;
  }
}

/** Says that a part failed, and helps with what to do about it. */
export function Failed({ words }: { words: string }) {
  return (
    <p role="alert" className="problem">
      {words} <button onClick={() => location.reload()}>{t("Reload")}</button>
    </p>
  );
}
