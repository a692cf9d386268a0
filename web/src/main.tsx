import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { applyTheme, usePreferences } from "./preferences";
import "./style/base.css";
import "./style/layout.css";
import "./style/timeline.css";
import "./style/parts.css";

applyTheme(usePreferences.getState().theme);
usePreferences.subscribe(({ theme }) => applyTheme(theme));

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: 1 } } })}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
