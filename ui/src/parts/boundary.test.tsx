import { act, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { type ComponentType, Suspense } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { page, tab } from "../lib/page-code.ts";
import { Boundary } from "./boundary.tsx";

const reload = vi.fn();

/** What `/` answers: the document of a version, or nothing while the server is away. */
let served: string | null;

beforeEach(() => {
  reload.mockClear();
  vi.spyOn(tab, "reload").mockImplementation(reload);
  sessionStorage.clear();
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.stubGlobal("fetch", async () => {
    if (served === null) throw new TypeError("Failed to fetch");
    return new Response(`<script type="module" src="/assets/${served}.js"></script>`);
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

type Code = { default: ComponentType };
const missing = () => Promise.reject<Code>(new TypeError("Failed to fetch dynamically imported module"));
const loaded = async (): Promise<Code> => ({ default: () => <p>The page</p> });

async function open(load: () => Promise<Code>) {
  const Opened = page(load);
  await act(async () => {
    render(
      <Boundary>
        <Suspense fallback="Loading">
          <Opened />
        </Suspense>
      </Boundary>,
    );
  });
}

describe("a page whose code cannot be loaded", () => {
  it("reloads the tab once when the server has another version", async () => {
    served = "index-new";
    await open(missing);
    await vi.waitFor(() => expect(reload).toHaveBeenCalledTimes(1));
    expect(screen.getByRole("heading", { name: "This page could not be loaded" })).toBeInTheDocument();
  });
  it("does not reload again for the same version, and leaves that to people", async () => {
    served = "index-new";
    sessionStorage.setItem("evenhand-reloaded-for", "/assets/index-new.js");
    await open(missing);
    expect(await screen.findByText(/does not have this page's code/)).toBeInTheDocument();
    expect(reload).not.toHaveBeenCalled();
    await userEvent.click(screen.getByRole("button", { name: "Reload" }));
    expect(reload).toHaveBeenCalledTimes(1);
  });
  it("may reload again after code arrived", async () => {
    sessionStorage.setItem("evenhand-reloaded-for", "/assets/index-new.js");
    await open(loaded);
    expect(screen.getByText("The page")).toBeInTheDocument();
    served = "index-new";
    await open(missing);
    await vi.waitFor(() => expect(reload).toHaveBeenCalledTimes(1));
  });
  it("waits for a server that is away", async () => {
    vi.useFakeTimers();
    served = null;
    await open(missing);
    await act(() => vi.advanceTimersByTimeAsync(60_000));
    expect(screen.getByText(/opens by itself/)).toBeInTheDocument();
    expect(reload).not.toHaveBeenCalled();
    served = "index-same";
    await act(() => vi.advanceTimersByTimeAsync(2_000));
    expect(reload).toHaveBeenCalledTimes(1);
  });
});

const Throws = () => {
  throw new Error("no such colour");
};

describe("a page that throws", () => {
  it("says so, with a way to reload, and lets the next page open", async () => {
    const shown = render(
      <Boundary at="/a">
        <Throws />
      </Boundary>,
    );
    expect(screen.getByRole("alert")).toHaveTextContent("no such colour");
    await userEvent.click(screen.getByRole("button", { name: "Reload" }));
    expect(reload).toHaveBeenCalledTimes(1);
    shown.rerender(
      <Boundary at="/b">
        <p>Another page</p>
      </Boundary>,
    );
    expect(screen.getByText("Another page")).toBeInTheDocument();
  });
});
