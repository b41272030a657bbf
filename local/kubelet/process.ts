import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import type { Exit } from "./container-state.ts";

export interface Launch {
  /** The file to run. */
  readonly program: string;
  /** What the program sees as its own name and arguments. */
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory: string;
}

/** A program that runs as the head of a process group of its own. */
export interface ProcessGroup {
  /** Of the head; also the number of the group. */
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the head has ended. What it left behind in its group has been killed by then. */
  readonly exited: Promise<Exit>;
  /** Sends a signal to everything in the group; does nothing once the head has ended. */
  signal(name: NodeJS.Signals): void;
}

/** The system refused to start the program. */
export class SpawnFailed extends Error {
  override readonly name = "SpawnFailed";
}

/** @throws SpawnFailed */
export async function startProcess({ program, argv, environment, workingDirectory }: Launch): Promise<ProcessGroup> {
  const child = spawnGroup(program, argv, environment, workingDirectory);
  const { pid, stdout, stderr } = child;
  if (pid === undefined || !stdout || !stderr)
    throw new SpawnFailed(`cannot start ${program}: ${await errorOf(child)}`);
  child.on("error", () => {}); // a signal that could not be delivered; the process has ended by itself
  let ended = false;
  const exited = new Promise<Exit>((resolve) => {
    child.once("exit", (code, signal) => {
      ended = true;
      killGroup(pid, "SIGKILL");
      resolve({ code, signal });
    });
  });
  return { pid, stdout, stderr, exited, signal: (name) => void (ended || killGroup(pid, name)) };
}

/** Sends a signal to a whole process group. Returns false when there is no such group. */
export function killGroup(groupId: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(-groupId, name);
    return true;
  } catch {
    return false;
  }
}

/** Ends one process, wherever it belongs. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}

function spawnGroup(program: string, argv: readonly string[], env: Launch["environment"], cwd: string): ChildProcess {
  const [argv0 = program, ...args] = argv;
  try {
    return spawn(program, args, { argv0, cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  } catch (cause) {
    // Thrown at once for arguments with a NUL byte and the like.
    throw new SpawnFailed(`cannot start ${program}: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

function errorOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => child.once("error", (error) => resolve(error.message)));
}
