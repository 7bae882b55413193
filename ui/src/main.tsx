import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter } from "react-router";
import { Problem } from "./api/client.ts";
import { App } from "./app.tsx";
import { applyTheme } from "./lib/theme.ts";
import { Boundary } from "./parts/boundary.tsx";
import { Toasts } from "./parts/toast.tsx";
import "./styles.css";

applyTheme();

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // What the server refused once it will refuse again; one that is away is waited for (`ServerAway`).
      retry: (failures, error) => error instanceof Problem && error.status >= 500 && failures < 2,
    },
  },
});

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <BrowserRouter>
          <Toasts>
            <Boundary>
              <App />
            </Boundary>
          </Toasts>
        </BrowserRouter>
      </QueryClientProvider>
    </StrictMode>,
  );
}
