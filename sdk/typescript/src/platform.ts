/** The difference between Node, where batches go to a folder, and workers, where they stay in memory. */

export interface Store {
  append(name: string, text: string): void;
  /** Replaces a file whole. */
  write(name: string, text: string): void;
  read(name: string): string | undefined;
  remove(name: string): void;
  /** Takes over the files of processes that ended, and gives back their names, oldest first. */
  adopt(): string[];
  /** Leaves the store to the next process. */
  end(): void;
}

export interface Platform {
  env(name: string): string | undefined;
  id(): string;
  /** A folder for this server and key, when there are folders. */
  defaultSpool(url: string, apiKey: string | undefined): string | undefined;
  openFolder(path: string): Store;
  /** Runs when the process ends; nothing can be awaited then. */
  atExit(run: () => void): void;
}

/** The same as a folder, without one. */
export class MemoryStore implements Store {
  private files = new Map<string, string>();

  append(name: string, text: string): void {
    this.files.set(name, (this.files.get(name) ?? "") + text);
  }
  write(name: string, text: string): void {
    this.files.set(name, text);
  }
  read(name: string): string | undefined {
    return this.files.get(name);
  }
  remove(name: string): void {
    this.files.delete(name);
  }
  adopt(): string[] {
    return [];
  }
  end(): void {
    this.files.clear();
  }
}

let current: Platform = {
  env: () => undefined,
  id: () => globalThis.crypto.randomUUID().replaceAll("-", ""),
  defaultSpool: () => undefined,
  openFolder: () => {
    throw new Error("there are no folders here");
  },
  atExit: () => {},
};

export function platform(): Platform {
  return current;
}

export function usePlatform(other: Platform): void {
  current = other;
}
