import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { systemClock } from "../../lib/time/clock.ts";
import { applyTo, type Mutant } from "./find-mutants.ts";
import type { Outcome } from "./report.ts";

export interface TestRun {
  /** The file that the worker must load again. */
  readonly changed: string;
  readonly tests: readonly string[];
}

/** Failed tests may leave servers and processes behind, so a worker is replaced after this number of failures. */
const failuresOfAWorker = 10;

export type TestResult = "passed" | "failed";

/**
 * A copy of the project in which mutants are tried one after the other, by a worker that caches compiled files. The
 * project itself is never changed.
 */
export class Workbench implements Disposable {
  readonly #root: string;
  readonly #limitMs: number;
  #worker: ChildProcess | undefined;
  /** Of the worker. */
  #failures = 0;

  /** `limitMs`: a longer run of tests counts as hanging. */
  constructor(project: string, files: readonly string[], limitMs: number) {
    this.#root = mkdtempSync(join(tmpdir(), "rouse-mutate-"));
    this.#limitMs = limitMs;
    for (const file of files) {
      mkdirSync(dirname(join(this.#root, file)), { recursive: true });
      cpSync(join(project, file), join(this.#root, file));
    }
    symlinkSync(join(project, "node_modules"), join(this.#root, "node_modules"));
  }

  /** The milliseconds of the tests without a fault; undefined if they do not pass within the limit. */
  async passesIn(tests: readonly string[]): Promise<number | undefined> {
    const beganMs = systemClock.ticksMs();
    const result = await this.#run({ changed: "", tests }, this.#limitMs);
    return result === "passed" ? systemClock.ticksMs() - beganMs : undefined;
  }

  /** `usualMs`: the time of these tests without a fault, if known. Several times as long is an endless loop. */
  async try(mutant: Mutant, tests: readonly string[], usualMs = this.#limitMs): Promise<Outcome> {
    const path = join(this.#root, mutant.file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, applyTo(text, mutant));
    try {
      const result = await this.#run({ changed: path, tests }, Math.min(this.#limitMs, 3 * usualMs + 20_000));
      if (result === undefined) return "timedOut";
      return result === "passed" ? "survived" : "killed";
    } finally {
      writeFileSync(path, text);
    }
  }

  [Symbol.dispose](): void {
    this.renew();
    rmSync(this.#root, { recursive: true, force: true });
  }

  async #run(run: TestRun, limitMs: number): Promise<TestResult | undefined> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const over = new AbortController();
    using _timer = systemClock.after(limitMs, () => over.abort());
    worker.send(run);
    const answer = once(worker, "message", { signal: over.signal }).then(([result]) => result);
    const gone = once(worker, "exit", { signal: over.signal }).then(() => "failed" as const);
    const result: TestResult | undefined = await Promise.race([answer, gone]).catch(() => undefined);
    over.abort();
    await Promise.allSettled([answer, gone]);
    // After several failures, a worker may also fail tests without a fault.
    if (result === "failed") this.#failures += 1;
    if (result === undefined || worker.exitCode !== null || this.#failures >= failuresOfAWorker) this.renew();
    return result;
  }

  #start(): ChildProcess {
    const worker = fork(join(this.#root, "test/mutate/worker.ts"), {
      cwd: this.#root,
      stdio: "ignore",
      detached: true,
    });
    worker.on("error", () => {}); // its exit is handled separately
    return worker;
  }

  /** Ends the worker and all processes that its tests have started in its group. The next tests get a new one. */
  renew(): void {
    const { pid } = this.#worker ?? {};
    this.#worker = undefined;
    this.#failures = 0;
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has already exited.
    }
  }
}
