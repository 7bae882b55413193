/** One line for the log of the agent. Applications may send it elsewhere. */

export type Log = (level: "warn" | "error", message: string) => void;

export const toConsole: Log = (level, message) => console[level](`evenhand: ${message}`);
