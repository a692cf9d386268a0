import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { earlyEnd, openEarly } from "./opening";
import { Guard } from "./parts/Guard";
import { applyTheme, usePreferences } from "./preferences";
import { loadLanguage, useLanguage } from "./words";
import "@fontsource-variable/inter/wght.css";
import "./style/base.css";
import "./style/controls.css";
import "./style/layout.css";
import "./style/timeline.css";
import "./style/cards.css";
import "./style/diff.css";
import "./style/markdown.css";
import "./style/parts.css";
import "./style/composer.css";
import "./style/work-place.css";
import "./style/dialogs.css";
import "./style/panels.css";
import "./style/files.css";
import "./style/code.css";
import "./style/terminal.css";
import "./style/context.css";

openEarly();
applyTheme(usePreferences.getState().theme);
usePreferences.subscribe(({ theme, language }, before) => {
  applyTheme(theme);
  if (language !== before.language) void loadLanguage();
});

/** Made anew in each language. */
function Root() {
  return <App key={useLanguage((state) => state.language)} />;
}

const root = document.getElementById("root");
// Not awaited here: the files of languages may be bundled to need this one.
void Promise.all([loadLanguage(), earlyEnd()]).finally(() => {
  if (!root) return;
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: 1 } } })}>
        <Guard>
          <Root />
        </Guard>
      </QueryClientProvider>
    </StrictMode>,
  );
});
