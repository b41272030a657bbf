import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { nodeFlagsOf } from "../../../programs/node-flags.ts";

const repository = join(import.meta.dirname, "..", "..", "..", "..");

const programs = {
  controller: ["controller/main.ts", "--metrics-bind-address=0", "--health-probe-bind-address=0"],
  activator: [
    "activator/main.ts",
    "--metrics-bind-address=",
    "--http-bind-address=127.0.0.1:0",
    "--health-probe-bind-address=127.0.0.1:0",
  ],
} as const;

export interface ProgramHere extends AsyncDisposable {
  readonly said: () => string;
  /** The lines that it wrote to standard error. */
  readonly complaints: () => readonly string[];
  readonly ended: Promise<number | null>;
  readonly child: ChildProcess;
}

/** One of the programs on this machine, with a kubeconfig of the cluster. */
export function startHere(program: keyof typeof programs, ...flags: readonly string[]): ProgramHere {
  const [main, ...always] = programs[program];
  const child = spawn(process.execPath, [...nodeFlagsOf(main), join(repository, main), ...always, ...flags], {
    env: { ...process.env },
  });
  let said = "";
  let complaints = "";
  child.stdout.on("data", (chunk: Buffer) => {
    said += chunk;
  });
  child.stderr.on("data", (chunk: Buffer) => {
    complaints += chunk;
  });
  const ended = once(child, "close").then(([code]) => code as number | null);
  return {
    said: () => said + complaints,
    complaints: () => complaints.trimEnd().split("\n"),
    ended,
    child,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
