import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** No call of these tests takes longer. A kubectl that hangs is killed and fails its test. */
const limitMs = 20_000;

export interface Binary {
  readonly path: string;
  /** For example `v1.36.0`. */
  readonly version: string;
}

/**
 * The kubectl programs to test with.
 *
 * @throws Error if there is none, or one does not run, because a test without kubectl must not pass.
 */
export async function findBinaries(): Promise<readonly Binary[]> {
  const paths = process.env["KUBECTL_BINARIES"]?.split(":").filter((path) => path !== "") ?? ["kubectl"];
  if (paths.length === 0) throw new Error("KUBECTL_BINARIES is set, and names no program");
  return Promise.all(paths.map(describeBinary));
}

async function describeBinary(path: string): Promise<Binary> {
  try {
    const { stdout } = await execute(path, ["version", "--client", "--output=json"], { timeout: limitMs });
    return { path, version: JSON.parse(stdout).clientVersion.gitVersion };
  } catch (cause) {
    throw new Error(`cannot run ${path}: put kubectl on the PATH or name it in KUBECTL_BINARIES`, { cause });
  }
}

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CallOptions {
  /** The standard input of kubectl, for `-f -`. */
  readonly input?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** One kubectl with a kubeconfig and its own home directory, and thus its own cache. */
export class Kubectl {
  readonly #path: string;
  readonly #environment: Readonly<Record<string, string>>;

  constructor({ path }: Binary, places: { readonly kubeconfig: string; readonly home: string }) {
    this.#path = path;
    this.#environment = { PATH: process.env["PATH"] ?? "", HOME: places.home, KUBECONFIG: places.kubeconfig };
  }

  /** Runs to the end and returns the result. */
  async call(args: readonly string[], { input = "", environment = {} }: CallOptions = {}): Promise<Outcome> {
    const child = this.#spawn(args, environment);
    child.stdin.end(input);
    const [stdout, stderr, [code]] = await Promise.all([
      textOf(child.stdout),
      textOf(child.stderr),
      once(child, "close"),
    ]);
    return { code: code ?? -1, stdout, stderr };
  }

  /**
   * Runs to the end and returns the output, without the last line break.
   *
   * @throws Error with the error output if it fails.
   */
  async run(command: string, options?: CallOptions): Promise<string> {
    const { code, stdout, stderr } = await this.call(wordsOf(command), options);
    if (code !== 0) throw new Error(`kubectl ${command}: ${stderr}`);
    return stdout.trimEnd();
  }

  /** Runs to the end, expects a failure, and returns the error output. */
  async fail(command: string, options?: CallOptions): Promise<string> {
    const { code, stdout, stderr } = await this.call(wordsOf(command), options);
    if (code === 0) throw new Error(`kubectl ${command} succeeded: ${stdout}`);
    return stderr.trimEnd();
  }

  /** Starts a command that runs until it is disposed of, such as `get -w`. */
  follow(command: string): Following {
    return new Following(this.#spawn(wordsOf(command), {}));
  }

  #spawn(args: readonly string[], environment: Readonly<Record<string, string>>) {
    return spawn(this.#path, args, { env: { ...this.#environment, ...environment }, timeout: limitMs });
  }
}

/** Splits at spaces. Single quotes group words, as in a shell. */
function wordsOf(command: string): readonly string[] {
  return (command.match(/(?:'[^']*'|[^\s'])+/g) ?? []).map((word) => word.replaceAll("'", ""));
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** A running kubectl whose output is read as it arrives. */
export class Following implements AsyncDisposable {
  readonly #child: ReturnType<typeof spawn>;
  #output = "";

  constructor(child: ReturnType<typeof spawn>) {
    this.#child = child;
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#output += text;
      child.emit("output");
    });
  }

  /** Waits until the output matches; the time limit of the program is the limit of the wait. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.#output)) {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        throw new Error(`it ended without ${pattern}: ${this.#output}`);
      }
      await Promise.race([once(this.#child, "output"), once(this.#child, "close")]);
    }
    return this.#output;
  }

  /** Waits until it has exited by itself. */
  async ended(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, "close");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "close");
  }
}
