import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Converted, headBytes, readFrame } from "./convert-frames.ts";
import { GrowingBytes } from "./growing-bytes.ts";

/** A review was not converted: `code` is the HTTP status of the reason. */
export class ReviewNotConverted extends Error {
  override readonly name = "ReviewNotConverted";
  readonly code: 500 | 503;

  constructor(code: ReviewNotConverted["code"], message: string) {
    super(message);
    this.code = code;
  }
}

export interface ConvertedReview {
  readonly about: Converted;
  /** JSON; empty where it was not answered. */
  readonly answer: Buffer;
}

// Kilobytes. JSON that Go's decoder takes is nested at most 10 000 deep, and V8 writes it by recursion. A main thread has 8 MiB.
const stackSize = 4_000;
// Megabytes. The heap's part for young objects comes on top of its limit, three times this.
const semiSpaceMegabytes = 2;
const file = fileURLToPath(new URL("./convert-process.ts", import.meta.url));

/** One process that converts one review at a time. It ends when this process ends, however that happens: its input ends then. */
export class Converter {
  readonly #child: ChildProcess;
  readonly #input: Writable | undefined;
  #current: PromiseWithResolvers<ConvertedReview> | undefined;
  #frame = new GrowingBytes();
  #error: Error | undefined;

  /**
   * Its heap has so many megabytes, and it ends itself when a review needs more. `ended` is called when it can convert
   * no more: with an error where its process could not be started.
   *
   * @throws Error when its process cannot be started, as the system says at once of some causes.
   */
  constructor(heapMegabytes: number, ended: (notStarted: Error | undefined) => void) {
    this.#child = startProcess(heapMegabytes);
    const end = (error: Error, notStarted?: Error) => {
      this.#error ??= error;
      this.#current?.reject(this.#error);
      ended(notStarted);
    };
    this.#child.on("error", (error) => {
      const notStarted = this.#child.pid === undefined ? error : undefined;
      end(notStarted ? notStartedFor(error) : conversionFailed(error.message), notStarted);
    });
    this.#child.on("exit", (code, signal) =>
      end(conversionFailed(`its process ended with ${signal ?? `code ${code}`}`)),
    );
    // Without a free file descriptor there are no pipes, whatever the types say; the error event follows.
    const { stdin, stdout } = this.#child;
    this.#input = stdin ?? undefined;
    // The exit event reports that a process has ended.
    stdin?.on("error", () => {});
    stdout?.on("error", () => {});
    stdout?.on("data", (piece: Buffer) => this.#read(piece));
  }

  /** Whether it has ended or is being ended, and converts no other review. The answer to the last one may still come. */
  get isEnding(): boolean {
    return this.#error !== undefined;
  }

  /** @throws ReviewNotConverted when the process ends before the review is converted. */
  convert(body: Uint8Array): Promise<ConvertedReview> {
    if (this.#error) return Promise.reject(this.#error);
    const head = Buffer.alloc(headBytes);
    head.writeUInt32LE(body.length);
    this.#current = Promise.withResolvers();
    this.#input?.write(head);
    this.#input?.write(body);
    return this.#current.promise;
  }

  /** Ends the process at once, in the middle of a parse too, which no thread of this process could be. */
  async end(why: Error): Promise<void> {
    this.#error ??= why;
    const { exitCode, signalCode, pid } = this.#child;
    if (exitCode !== null || signalCode !== null || pid === undefined) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }

  #read(piece: Buffer): void {
    this.#frame.add(piece);
    const whole = readFrame(this.#frame.view());
    if (!whole) return;
    this.#frame = new GrowingBytes();
    this.#current?.resolve(whole);
    this.#current = undefined;
  }
}

const conversionFailed = (why: string) => new ReviewNotConverted(500, `the conversion failed: ${why}`);

export const notStartedFor = (cause: unknown) =>
  new ReviewNotConverted(
    503,
    `no conversion process could be started: ${cause instanceof Error ? cause.message : String(cause)}; try again`,
  );

function startProcess(heapMegabytes: number): ChildProcess {
  const heap = [`--max-old-space-size=${heapMegabytes}`, `--max-semi-space-size=${semiSpaceMegabytes}`];
  const flags = [...heap, `--stack-size=${stackSize}`];
  const child = spawn(process.execPath, [...flags, file], {
    env: {},
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.unref();
  return child;
}
