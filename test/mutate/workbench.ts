import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { systemClock } from "../../lib/time/clock.ts";
import { applyTo, type Mutant } from "./find-mutants.ts";
import type { Outcome } from "./report.ts";

export interface TestRun {
  /** That the worker has to read anew. */
  readonly changed: string;
  readonly tests: readonly string[];
}

export type TestResult = "passed" | "failed";

/**
 * A copy of the project in which mutants are tried one after the other, by a worker that keeps what it has compiled. The
 * project itself is never changed.
 */
export class Workbench implements Disposable {
  readonly #root: string;
  readonly #limitMs: number;
  #worker: ChildProcess | undefined;

  /** `limitMs`: a set of tests that takes longer hangs. */
  constructor(project: string, files: readonly string[], limitMs: number) {
    this.#root = mkdtempSync(join(tmpdir(), "rouse-mutate-"));
    this.#limitMs = limitMs;
    for (const file of files) {
      mkdirSync(dirname(join(this.#root, file)), { recursive: true });
      cpSync(join(project, file), join(this.#root, file));
    }
    symlinkSync(join(project, "node_modules"), join(this.#root, "node_modules"));
  }

  /** How many milliseconds the tests take as they are; undefined where they do not pass within the limit. */
  async passesIn(tests: readonly string[]): Promise<number | undefined> {
    const beganMs = systemClock.ticksMs();
    const result = await this.#run({ changed: "", tests }, this.#limitMs);
    return result === "passed" ? systemClock.ticksMs() - beganMs : undefined;
  }

  /** `usualMs`: how long these tests take without a fault. Several times as long is a loop without an end. */
  async try(mutant: Mutant, tests: readonly string[], usualMs: number): Promise<Outcome> {
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
    this.#end();
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
    // A worker in which several sets had failed was seen to fail sound ones too: what failed has no part in the next run.
    if (result !== "passed") this.#end();
    return result;
  }

  #start(): ChildProcess {
    const worker = fork(join(this.#root, "test/mutate/worker.ts"), {
      cwd: this.#root,
      stdio: "ignore",
      detached: true,
    });
    worker.on("error", () => {}); // it is seen to have ended
    return worker;
  }

  /** Ends the worker and whatever its tests have started in its group. */
  #end(): void {
    const { pid } = this.#worker ?? {};
    this.#worker = undefined;
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has ended already.
    }
  }
}
