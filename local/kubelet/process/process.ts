import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import type { Exit } from "../container/container-state.ts";
import { killedAtExit } from "./killed-at-exit.ts";

export interface Launch {
  /** The path of the file to run. */
  readonly program: string;
  /** The program's own name and arguments. */
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory: string;
  /** Calls the function that starts the process, and returns what it returns. */
  readonly spawnWithin?: <T>(spawn: () => T) => T;
}

/** A program that is the head of its own process group. */
export interface ProcessGroup {
  /** The pid of the head, and the number of the group. */
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /**
   * Resolves when the head has ended and the rest of its group was killed; see Containment for processes outside the
   * group.
   */
  readonly exited: Promise<Exit>;
  /** Sends a signal to the group; does nothing once the head has ended. */
  signal(name: NodeJS.Signals): void;
}

/** The system failed to start the program. */
export class SpawnFailed extends Error {
  override readonly name = "SpawnFailed";
}

/** @throws SpawnFailed */
export async function startProcess(launch: Launch): Promise<ProcessGroup> {
  const { program, spawnWithin = (spawn) => spawn() } = launch;
  const child = begin(() => spawnWithin(() => spawnGroup(launch)), program);
  const { pid, stdout, stderr } = child;
  if (pid === undefined || !stdout || !stderr)
    throw new SpawnFailed(`cannot start ${program}: ${await errorOf(child)}`);
  child.on("error", () => {}); // a signal could not be delivered: the process has ended
  let ended = false;
  const atExit = killedAtExit(() => killGroup(pid, "SIGKILL"));
  const exited = new Promise<Exit>((resolve) => {
    child.once("exit", (code, signal) => {
      ended = true;
      atExit[Symbol.dispose]();
      killGroup(pid, "SIGKILL");
      resolve({ code, signal });
    });
  });
  return { pid, stdout, stderr, exited, signal: (name) => void (ended || killGroup(pid, name)) };
}

/** Sends a signal to a whole process group. Returns false if the group does not exist. */
export function killGroup(groupId: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(-groupId, name);
    return true;
  } catch {
    return false;
  }
}

/** Kills one process, in any group. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}

function spawnGroup({ program, argv, environment: env, workingDirectory: cwd }: Launch): ChildProcess {
  const [argv0 = program, ...args] = argv;
  return spawn(program, args, { argv0, cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
}

/** Arguments with a NUL byte and the like fail at once, and so does a container that takes no more processes. */
function begin(start: () => ChildProcess, program: string): ChildProcess {
  try {
    return start();
  } catch (cause) {
    throw new SpawnFailed(`cannot start ${program}: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

function errorOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => child.once("error", (error) => resolve(error.message)));
}
