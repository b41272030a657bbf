import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { systemClock } from "../../lib/time/clock.ts";
import { nodeFlagsOf } from "./node-flags.ts";

const root = join(import.meta.dirname, "..", "..");
const linesKept = 30;
/** Longer than any start takes on a busy machine. */
const startLimitMs = 60_000;
const answerLimitMs = 5_000;
const checkEveryMs = 50;

/** One run of one of our programs, or of another program with the same flags, as a process of its own. */
export class ChildProgram implements AsyncDisposable {
  readonly exited: Promise<void>;
  /** The log line of its start. Rejects if it exits before that, or takes more than a minute. */
  readonly started: Promise<Readonly<Record<string, unknown>>>;
  /** The end of its log, for error messages. */
  readonly lines: string[] = [];
  readonly #main: string;
  readonly #process: ChildProcess;

  /** `main` is a `.ts` path in this repository, or the path of an executable. `hear` is called with each line of the log. */
  constructor(main: string, flags: readonly string[], hear: (line: string) => void = () => {}) {
    this.#main = main;
    const [program, args] = main.endsWith(".ts")
      ? [process.execPath, [...nodeFlagsOf(main), join(root, main)]]
      : [main, []];
    this.#process = spawn(program, [...args, ...flags], { stdio: ["ignore", "pipe", "pipe"] });
    // Not before all of its output was read.
    this.exited = once(this.#process, "close").then(() => {});
    const started = Promise.withResolvers<Readonly<Record<string, unknown>>>();
    const late = systemClock.after(startLimitMs, () => started.reject(this.#failure("has not started")));
    this.started = started.promise.finally(() => late.cancel());
    this.started.catch(() => {}); // the rejection matters only to callers that wait for it
    for (const input of [this.#process.stdout, this.#process.stderr]) {
      if (!input) continue;
      createInterface({ input }).on("line", (line) => {
        this.lines.push(line);
        if (this.lines.length > linesKept) this.lines.shift();
        if (line.includes('"msg":"started"')) started.resolve(JSON.parse(line));
        hear(line);
      });
    }
    void this.exited.then(() => started.reject(this.#failure("ended")));
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get runs(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Resolves once it serves this page with success. Rejects if it exits before that, or takes more than a minute. */
  async untilServes(url: string): Promise<void> {
    const endMs = systemClock.ticksMs() + startLimitMs;
    while (this.runs) {
      const answer = await fetch(url, { signal: AbortSignal.timeout(answerLimitMs) }).catch(() => undefined);
      if (answer?.ok) return;
      if (systemClock.ticksMs() > endMs) throw this.#failure(`does not serve ${url}`);
      await systemClock.sleep(checkEveryMs);
    }
    throw this.#failure("ended");
  }

  /** Stops its execution: it keeps its sockets and does not answer. */
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

  /** Ends it as Kubernetes does. */
  async stop(): Promise<void> {
    if (this.runs) this.#process.kill("SIGTERM");
    await this.exited;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  #failure(what: string): Error {
    return new Error(`${this.#main} ${what}:\n${this.lines.join("\n")}`);
  }
}
