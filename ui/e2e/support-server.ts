/** A server on a folder of its own, that can be killed and started again at the same address. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { address, BINARY } from "./support.ts";

export class OwnServer {
  readonly folder = mkdtempSync(join(tmpdir(), "evenhand-own-"));
  url = "";
  private process: ChildProcess | undefined;

  /** With variables of the environment beside those of the test. */
  constructor(public environment: Record<string, string> = {}) {}

  async start(): Promise<this> {
    const listen = this.url ? new URL(this.url).host : "127.0.0.1:0";
    this.process = spawn(BINARY, ["serve", "--data-dir", this.folder, "--listen", listen], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...this.environment },
    });
    this.url = await address(this.process);
    return this;
  }

  /** Ends the process and waits until it is gone. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const { process } = this;
    if (!process || process.exitCode !== null || process.signalCode !== null) return;
    await new Promise<void>((gone) => {
      process.once("exit", () => gone());
      process.kill(signal);
    });
  }

  async remove(): Promise<void> {
    await this.end("SIGTERM");
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** A key made on the command line. The first one ends local mode. */
  key(role: string, org = "default"): string {
    const args = ["keys", "create", "--role", role, "--org", org, "--data-dir", this.folder];
    return execFileSync(BINARY, args, { encoding: "utf8" }).trim();
  }
}

/** Every page by its path and heading. */
export const PAGES: [path: string, heading: string][] = [
  ["/overview", "Overview"],
  ["/sessions", "Sessions"],
  ["/shadow", "Shadow"],
  ["/experiments", "Experiments"],
  ["/learnings", "Learnings"],
  ["/review", "Review"],
  ["/jobs", "Jobs and judge health"],
  ["/governance", "Governance"],
  ["/settings", "Settings"],
  ["/connect", "Connect your agent"],
];
