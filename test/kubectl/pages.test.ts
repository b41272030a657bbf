import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commandsOf, type DocumentedCommand, loosened } from "../support/documented-commands.ts";
import { LocalMode, type Ready } from "../support/labs/local-mode.ts";
import { findBinaries } from "./kubectl.ts";

const root = join(import.meta.dirname, "..", "..");
const execute = promisify(execFile);
/** `curl -N` follows an endless stream. Its output up to this time is compared. */
const limitMs = 15_000;
const followMs = 3_000;

/** In reading order, because a page may need the result of the page before. */
const pages = ["README.md", "docs/guide/pause-and-resume.md", "docs/guide/claims-and-pools.md"];
/**
 * Commands that this test does not run: other tests start local mode, and `npm run test:kubernetes` installs the chart and the
 * manifests on a cluster.
 */
const elsewhere = /^(npm |helm |kubectl apply --server-side -f install\.yaml|kubectl -n agent-sandbox-system )/;

const [binary] = (await findBinaries()).slice(-1);
const commands = pages
  .flatMap((page) => commandsOf(page, readFileSync(join(root, page), "utf8")))
  .filter(({ command }) => !elsewhere.test(command));

/** README.md names this flag of local mode for the commands with a path. */
const flags = ["--path-routing-prefix=/s"];
const needsFlags = /examples\/grpc|^grpcurl |:8080\/s\//;

/** Runs the commands in their order, in a local mode of their own. */
function follow(title: string, some: readonly DocumentedCommand[], ...startFlags: string[]): void {
  describe(title, () => {
    const shell = new Shell(startFlags);
    const compared = startFlags.length > 0 ? withoutCount : loosened;
    beforeAll(() => shell.start(), 120_000);
    afterAll(() => shell[Symbol.asyncDispose]());

    it.each(some)("$page: $command", async ({ command, output }: DocumentedCommand) => {
      const printed = await shell.run(command);
      const lines = output.filter((line) => line !== "...");
      const expected = lines.length > 0 ? compared(lines.join("\n")) : [];
      expect(compared(printed).slice(0, lines.length)).toEqual(expected);
    });

    it("are some", () => expect(some.length).toBeGreaterThan(startFlags.length));
  });
}

/** The page counts visits from its first command on, and here some are left out. */
const withoutCount = (text: string) => loosened(text).map((line) => line.replace(/visit number \d+/, "visit number N"));

class Shell implements AsyncDisposable {
  readonly #flags: readonly string[];
  readonly #local = new LocalMode();
  readonly #environment: Record<string, string | undefined> = {
    ...process.env,
    PATH: `${dirname(binary?.path ?? "")}${delimiter}${process.env["PATH"]}`,
  };
  #ready: Ready | undefined;

  constructor(flags: readonly string[]) {
    this.#flags = flags;
  }

  async start(): Promise<void> {
    this.#ready = await this.#local.start(...this.#flags);
  }

  async run(command: string): Promise<string> {
    const [, name, value] = /^export (\w+)=(.*)$/.exec(command) ?? [];
    if (name && value) {
      this.#environment[name] = this.#here(value);
      return "";
    }
    const follows = command.startsWith("curl -N");
    const timeout = follows ? followMs : limitMs;
    const silent = this.#here(command).replace(/^curl /, "curl --silent --show-error ");
    try {
      return (await execute("bash", ["-c", silent], { cwd: root, env: this.#environment, timeout })).stdout;
    } catch (error) {
      if (follows && error instanceof Error && "stdout" in error) return String(error.stdout);
      throw error;
    }
  }

  /** The pages use the default ports and folder. This run uses others. */
  #here(command: string): string {
    const { activator = "", kubeconfig = "" } = this.#ready ?? {};
    return command
      .replaceAll(/\b(localhost|127\.0\.0\.1):8080\b/g, `$1:${new URL(activator).port}`)
      .replaceAll(/(\$PWD\/)?\.rouse\/kubeconfig/g, kubeconfig);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#local[Symbol.asyncDispose]();
  }
}

follow(
  "the commands of the pages, in order, in local mode",
  commands.filter(({ command }) => !needsFlags.test(command)),
);
follow(
  "the commands of the README with gRPC and a path",
  commands.filter(({ command }) => needsFlags.test(command)),
  ...flags,
);
