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

let ready: Ready;
let local: LocalMode;
const environment: Record<string, string | undefined> = {
  ...process.env,
  PATH: `${dirname(binary?.path ?? "")}${delimiter}${process.env["PATH"]}`,
};

beforeAll(async () => {
  local = new LocalMode();
  ready = await local.start();
}, 120_000);
afterAll(() => local[Symbol.asyncDispose]());

describe("the commands of the pages, in order, in local mode", () => {
  it.each(commands)("$page: $command", async ({ command, output }: DocumentedCommand) => {
    const [, name, value] = /^export (\w+)=(.*)$/.exec(command) ?? [];
    if (name && value) {
      environment[name] = here(value);
      return;
    }
    const printed = await run(command);
    const lines = output.filter((line) => line !== "...");
    expect(loosened(printed).slice(0, lines.length)).toEqual(loosened(lines.join("\n")));
  });

  it("are more than ten", () => expect(commands.length).toBeGreaterThan(10));
});

/** The pages use the default ports and folder. This run uses others. */
const here = (command: string) =>
  command
    .replaceAll(/\b(localhost|127\.0\.0\.1):8080\b/g, `$1:${new URL(ready.activator).port}`)
    .replaceAll("$PWD/.rouse/kubeconfig", ready.kubeconfig);

async function run(command: string): Promise<string> {
  const follows = command.startsWith("curl -N");
  const timeout = follows ? followMs : limitMs;
  const silent = here(command).replace(/^curl /, "curl --silent --show-error ");
  try {
    return (await execute("bash", ["-c", silent], { cwd: root, env: environment, timeout })).stdout;
  } catch (error) {
    if (follows && error instanceof Error && "stdout" in error) return String(error.stdout);
    throw error;
  }
}
