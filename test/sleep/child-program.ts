import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const root = join(import.meta.dirname, "..", "..");
const linesKept = 30;

/** One run of one of our programs, with the flags that it has on a cluster. */
export class ChildProgram {
  readonly exited: Promise<void>;
  /** What its log says of how it was started. */
  readonly started: Promise<Readonly<Record<string, unknown>>>;
  /** The end of its log, for whoever wants to know why. */
  readonly lines: string[] = [];
  readonly #process: ChildProcess;

  constructor(main: string, flags: readonly string[]) {
    this.#process = spawn(process.execPath, [join(root, main), ...flags], { stdio: ["ignore", "pipe", "pipe"] });
    this.exited = once(this.#process, "exit").then(() => {});
    const started = Promise.withResolvers<Readonly<Record<string, unknown>>>();
    this.started = started.promise;
    started.promise.catch(() => {}); // who does not wait for it does not care
    for (const input of [this.#process.stdout, this.#process.stderr]) {
      if (!input) continue;
      createInterface({ input }).on("line", (line) => {
        this.lines.push(line);
        if (this.lines.length > linesKept) this.lines.shift();
        if (line.includes('"msg":"started"')) started.resolve(JSON.parse(line));
      });
    }
    void this.exited.then(() => started.reject(new Error(`${main} ended:\n${this.lines.join("\n")}`)));
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get runs(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Stops it in its tracks: it keeps its sockets and answers nobody. */
  pause(): void {
    this.#process.kill("SIGSTOP");
  }

  goOn(): void {
    this.#process.kill("SIGCONT");
  }

  async kill(): Promise<void> {
    if (this.runs) this.#process.kill("SIGKILL");
    await this.exited;
  }

  /** Ends it as Kubernetes would. */
  async stop(): Promise<void> {
    if (this.runs) this.#process.kill("SIGTERM");
    await this.exited;
  }

  /** What it holds of the machine. */
  usage(): { readonly residentBytes: number; readonly descriptors: number } {
    const status = readFileSync(`/proc/${this.pid}/status`, "utf8");
    const kib = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
    return { residentBytes: kib * 1024, descriptors: readdirSync(`/proc/${this.pid}/fd`).length };
  }
}
