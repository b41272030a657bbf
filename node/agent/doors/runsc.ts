import { spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import type { Clock } from "../../../lib/time/clock.ts";

export interface RunscSettings {
  /** The path of the program. */
  readonly program: string;
  /** Where it keeps the state of the Pods of containerd. */
  readonly root: string;
}

/** What is kept of the errors that runsc prints. */
const longestComplaint = 2_000;
/** The other end of the pipe may stay open in processes that runsc has started. */
const restOfOutputMs = 20;

/** runsc has refused, has failed, or was ended. */
export class RunscFailed extends Error {
  override readonly name = "RunscFailed";
  /** Whether it was ended in the middle of its work: then nobody knows what it has told gVisor. */
  readonly isCut: boolean;

  constructor(message: string, { isCut = false, ...options }: ErrorOptions & { readonly isCut?: boolean } = {}) {
    super(message, options);
    this.isCut = isCut;
  }
}

/** The commands of gVisor's runsc for a Pod: the only way to stop it, to write its memory, and to let it go on. */
export class Runsc {
  readonly #settings: RunscSettings;
  readonly #clock: Clock;
  #version: { readonly of: string; readonly is: string } | undefined;

  constructor(settings: RunscSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** No process of the Pod runs afterwards. */
  async pause(sandbox: string, signal: AbortSignal): Promise<void> {
    await this.#run(["pause", sandbox], signal);
  }

  /** Never cut off: gVisor would still do it, and nobody would know when. */
  async resume(sandbox: string): Promise<void> {
    await this.#run(["resume", sandbox]);
  }

  /** Writes the memory of a paused Pod into a folder. The Pod stays paused. */
  async checkpoint(sandbox: string, folder: string, signal: AbortSignal): Promise<void> {
    const options = ["--leave-running", "--compression=none", `--image-path=${folder}`];
    await this.#run(["checkpoint", ...options, sandbox], signal);
  }

  /** The stamp of the build. It is asked again when the file has changed. */
  async version(signal: AbortSignal): Promise<string> {
    const { ino, mtimeMs, size } = await stat(this.#settings.program);
    const of = `${ino} ${mtimeMs} ${size}`;
    if (this.#version?.of === of) return this.#version.is;
    const [, is] = /^runsc version (\S+)/.exec(await this.#run(["--version"], signal)) ?? [];
    if (is === undefined) throw new RunscFailed(`${this.#settings.program} does not tell its version`);
    this.#version = { of, is };
    return is;
  }

  /** Returns what runsc has printed. It gets SIGKILL when the signal is aborted. */
  #run(args: readonly string[], signal?: AbortSignal): Promise<string> {
    const { program, root } = this.#settings;
    return new Promise((resolve, reject) => {
      const child = spawn(program, [`--root=${root}`, ...args], {
        stdio: ["ignore", "pipe", "pipe"],
        ...(signal && { signal }),
        killSignal: "SIGKILL",
      });
      let output = "";
      let complaint = "";
      child.on("error", (cause) => reject(new RunscFailed(`runsc ${args[0]}: ${cause.message}`, { cause })));
      // Without a free file descriptor there are no pipes, whatever the types say; the error event follows.
      const { stdout, stderr }: { readonly stdout: Readable | null; readonly stderr: Readable | null } = child;
      stdout?.on("data", (data: Buffer) => {
        output += data.toString();
      });
      stderr?.on("data", (data: Buffer) => {
        complaint = `${complaint}${data}`.slice(-longestComplaint);
      });
      const conclude = (code: number | null, name: NodeJS.Signals | null) => {
        stdout?.destroy();
        stderr?.destroy();
        if (code === 0) return resolve(output);
        const how = code === null ? `was ended by ${name}` : `failed with status ${code}`;
        const message = [`runsc ${args[0]} ${how}`, complaint.trim()].filter(Boolean).join(": ");
        reject(new RunscFailed(message, { isCut: code === null }));
      };
      child.on("close", conclude);
      child.on("exit", (code, name) => void this.#clock.after(restOfOutputMs, () => conclude(code, name)));
    });
  }
}
