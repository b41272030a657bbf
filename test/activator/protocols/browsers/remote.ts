import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** A browser that shows one page. */
export interface Browser extends AsyncDisposable {
  /** Opens a page, and resolves once it is there. */
  open(url: string): Promise<void>;
  /** The value of an expression in the page, as a text. Rejects while the page is being replaced. */
  evaluate(expression: string): Promise<string>;
}

/** The path of the first of these programs that is installed. */
export function installed(...names: readonly string[]): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const startLimitMs = 90_000;
const answerLimitMs = 60_000;
/** What is kept of its log. */
const saidMax = 65_536;

/** A browser as a process, with a profile of its own. */
export class BrowserProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #profile: string;
  #said = "";

  private constructor(path: string, profile: string, flags: readonly string[]) {
    this.#profile = profile;
    // A group of its own, so that all its processes can be ended.
    const env = { ...process.env, HOME: profile };
    const options: SpawnOptions = { stdio: ["ignore", "ignore", "pipe"], detached: true, env };
    this.#child = spawn(path, flags, options);
    this.#child.stderr?.on("data", (bytes: Buffer) => {
      this.#said = `${this.#said}${bytes}`.slice(-saidMax);
    });
  }

  static async start(path: string, flagsOf: (profile: string) => readonly string[]): Promise<BrowserProcess> {
    const profile = await mkdtemp(join(tmpdir(), "browser-"));
    return new BrowserProcess(path, profile, flagsOf(profile));
  }

  /** Resolves with the address that it prints behind these words. */
  address(words: string): Promise<string> {
    const found = () => new RegExp(`${words} (ws://\\S+)`).exec(this.#said)?.[1];
    return new Promise((resolve, reject) => {
      const fail = (why: string) => reject(new Error(`the browser ${why}: ${this.#said.slice(-2_000)}`));
      const timer = setTimeout(() => fail("names no address"), startLimitMs);
      const look = () => {
        const address = found();
        if (address === undefined) return;
        clearTimeout(timer);
        resolve(address);
      };
      this.#child.stderr?.on("data", look);
      this.#child.once("exit", () => {
        clearTimeout(timer);
        fail("has ended");
      });
      this.#child.once("error", reject);
      look();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid !== undefined && exitCode === null && signalCode === null) {
      const exited = once(this.#child, "exit");
      process.kill(-pid, "SIGKILL");
      await exited;
    }
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 10 });
  }
}

type Answer = Readonly<Record<string, unknown>>;

/** Commands to a browser over a WebSocket, each with its answer. Its events are not read. */
export class Remote implements Disposable {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<Answer>>();
  #last = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#take(String(data)));
    socket.addEventListener("close", () => {
      for (const each of this.#waiting.values()) each.reject(new Error("the browser has closed the connection"));
    });
  }

  static async open(address: string): Promise<Remote> {
    const socket = new WebSocket(address);
    const remote = new Remote(socket);
    await once(socket, "open", { signal: AbortSignal.timeout(answerLimitMs) });
    return remote;
  }

  /** @throws Error if the browser answers with an error, or not in time. */
  async send(method: string, params: object, more: object = {}): Promise<Answer> {
    this.#last += 1;
    const id = this.#last;
    const answer = Promise.withResolvers<Answer>();
    this.#waiting.set(id, answer);
    const timer = setTimeout(() => answer.reject(new Error(`no answer to ${method}`)), answerLimitMs);
    try {
      this.#socket.send(JSON.stringify({ id, method, params, ...more }));
      return await answer.promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  #take(text: string): void {
    const { id, error, message, result } = JSON.parse(text);
    const waiting = this.#waiting.get(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(`${JSON.stringify(error)} ${message ?? ""}`));
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}
