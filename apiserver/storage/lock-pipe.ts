import { spawnSync } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";

/**
 * Opens a named pipe, and creates it before if needed. While it is open, every process on this machine that reaches the
 * file sees it, also in other namespaces of processes. The kernel closes it with the process. Undefined where there are no
 * named pipes.
 */
export function holdPipe(path: string): Disposable | undefined {
  const pipe = openPipe(path, constants.O_RDWR) ?? (makePipe(path) ? openPipe(path, constants.O_RDWR) : undefined);
  return typeof pipe === "number" ? { [Symbol.dispose]: () => closeSync(pipe) } : undefined;
}

/** Whether there is a named pipe, or one could be created. Nobody holds it for that. */
export const isPipeThere = (path: string): boolean =>
  isPipeHeld(path) !== undefined || (makePipe(path) && isPipeHeld(path) !== undefined);

/** Whether a process holds the pipe. Undefined if that is unknown. */
export function isPipeHeld(path: string): boolean | undefined {
  // Opening a pipe to write, without waiting, fails if nobody reads.
  const pipe = openPipe(path, constants.O_WRONLY);
  if (typeof pipe !== "number") return pipe === "unread" ? false : undefined;
  closeSync(pipe);
  return true;
}

function openPipe(path: string, mode: number): number | "unread" | undefined {
  try {
    return openSync(path, mode | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENXIO" ? "unread" : undefined;
  }
}

// Node has no function for this. The program is part of every Linux.
const makePipe = (path: string): boolean => spawnSync("mkfifo", ["-m", "600", path], { timeout: 5_000 }).status === 0;
