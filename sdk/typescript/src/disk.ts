/** Node: batches in a folder, so that they survive the process. */

import { createHash, randomUUID } from "node:crypto";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import type { Platform, Store } from "./platform.js";

interface Owner {
  pid: number;
  host: string;
  /** When the process began, where the system tells: ids of processes are used again. */
  began: string | null;
  /** The process said itself that it is done with the folder. */
  ended?: boolean;
}

/** A folder that is on another machine's account, as on a shared volume, is left alone that long. */
const FOREIGN_MS = 10 * 60 * 1000;
const TOUCH_MS = 60 * 1000;

function beganAt(pid: number): string | null {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program, in parentheses, may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A process that ended, but whose parent did not ask yet how.
    return fields[0] === "Z" ? "ended" : (fields[19] ?? null);
  } catch {
    return null;
  }
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function owned(folder: string): boolean {
  const file = path.join(folder, "owner");
  let owner: Owner;
  let touched: number;
  try {
    owner = JSON.parse(fs.readFileSync(file, "utf8"));
    touched = fs.statSync(file).mtimeMs;
  } catch {
    // A folder that was just made has no owner yet.
    try {
      return Date.now() - fs.statSync(folder).mtimeMs < TOUCH_MS;
    } catch {
      return true;
    }
  }
  if (owner.ended) return false;
  if (owner.host !== os.hostname()) return Date.now() - touched < FOREIGN_MS;
  return lives(owner.pid) && (owner.began === null || owner.began === beganAt(owner.pid));
}

export class FolderStore implements Store {
  private readonly folder: string;
  private readonly handles = new Map<string, number>();
  private readonly beat: NodeJS.Timeout;

  constructor(private readonly root: string) {
    fs.mkdirSync(root, { recursive: true, mode: 0o700 });
    this.folder = path.join(root, `${process.pid}-${randomUUID().slice(0, 12)}`);
    fs.mkdirSync(this.folder, { mode: 0o700 });
    this.own(false);
    this.beat = setInterval(() => this.touch(), TOUCH_MS);
    this.beat.unref();
  }

  private own(ended: boolean): void {
    const owner: Owner = { pid: process.pid, host: os.hostname(), began: beganAt(process.pid), ended };
    this.write("owner", JSON.stringify(owner));
  }

  private touch(): void {
    try {
      fs.utimesSync(path.join(this.folder, "owner"), new Date(), new Date());
    } catch {
      // The folder is gone; the next append says so.
    }
  }

  append(name: string, text: string): void {
    let handle = this.handles.get(name);
    if (handle === undefined) {
      handle = fs.openSync(path.join(this.folder, name), "a", 0o600);
      this.handles.set(name, handle);
    }
    const data = Buffer.from(text, "utf8");
    if (fs.writeSync(handle, data) !== data.length) {
      // The disk is full: half a line is ended, so that the next one is whole.
      fs.writeSync(handle, "\n");
      throw new Error("the spool took a part of a line only");
    }
  }

  write(name: string, text: string): void {
    const whole = path.join(this.folder, name);
    fs.writeFileSync(`${whole}.part`, text, { mode: 0o600 });
    fs.renameSync(`${whole}.part`, whole);
  }

  read(name: string): string | undefined {
    try {
      return fs.readFileSync(path.join(this.folder, name), "utf8");
    } catch {
      return undefined;
    }
  }

  remove(name: string): void {
    const handle = this.handles.get(name);
    if (handle !== undefined) fs.closeSync(handle);
    this.handles.delete(name);
    fs.rmSync(path.join(this.folder, name), { force: true });
  }

  adopt(): string[] {
    const found: string[] = [];
    for (const name of fs.readdirSync(this.root).sort()) {
      const other = path.join(this.root, name);
      if (other === this.folder || owned(other)) continue;
      try {
        for (const file of fs.readdirSync(other).sort()) {
          if (!file.endsWith(".open") && !file.endsWith(".json")) continue;
          // Two processes may take over the same folder: each file goes to one of them.
          fs.renameSync(path.join(other, file), path.join(this.folder, file));
          found.push(file);
        }
        fs.rmSync(other, { recursive: true, force: true });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
    }
    return found.sort();
  }

  end(): void {
    clearInterval(this.beat);
    for (const handle of this.handles.values()) fs.closeSync(handle);
    this.handles.clear();
    try {
      if (fs.readdirSync(this.folder).every((file) => file === "owner"))
        fs.rmSync(this.folder, { recursive: true, force: true });
      else this.own(true);
    } catch {
      // Somebody removed it.
    }
  }
}

/** One listener for all clients: Node warns of many. */
const endings = new Set<() => void>();

export const node: Platform = {
  env: (name) => process.env[name] || undefined,
  id: () => randomUUID().replaceAll("-", ""),
  defaultSpool(url, apiKey) {
    const named = process.env.EVENHAND_SPOOL;
    if (named) return named;
    const base = process.env.XDG_STATE_HOME || process.env.LOCALAPPDATA || path.join(os.homedir(), ".local", "state");
    // A folder per server and key, so that one organization's sessions are never sent with another's key.
    const name = createHash("sha256")
      .update(`${url}\0${apiKey ?? ""}`)
      .digest("hex")
      .slice(0, 16);
    return path.join(base, "evenhand", "typescript", name);
  },
  openFolder: (folder) => new FolderStore(folder),
  atExit: (run) => {
    if (endings.size === 0) process.on("exit", () => endings.forEach((one) => void one()));
    endings.add(run);
  },
};
