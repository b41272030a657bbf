import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Run } from "./command.ts";

const startMs = 30_000;

/** A registry on the loopback interface, which images are put together in. */
export interface ScratchRegistry extends AsyncDisposable {
  /** Host and port. */
  readonly address: string;
}

/** @throws when it does not listen within 30 seconds. */
export async function startScratchRegistry(crane: string, folder: string): Promise<ScratchRegistry> {
  mkdirSync(folder, { recursive: true });
  const child = spawn(crane, ["registry", "serve", "--address=127.0.0.1:0", `--disk=${folder}`], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const kill = () => child.kill();
  process.on("exit", kill);
  const ended = once(child, "exit").catch(() => {});
  const end = async () => {
    process.off("exit", kill);
    kill();
    await ended;
  };
  try {
    const port = await portOf(child.stderr);
    child.stderr.resume();
    return { address: `127.0.0.1:${port}`, [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw new Error("the registry that images are put together in does not start", { cause: error });
  }
}

async function portOf(output: NodeJS.ReadableStream): Promise<string> {
  const lines = createInterface({ input: output });
  const seen: string[] = [];
  const closed = once(lines, "close", { signal: AbortSignal.timeout(startMs) }).then(() => undefined);
  const port = new Promise<string>((resolve) => {
    lines.on("line", (line) => {
      seen.push(line);
      const [, found] = /serving on port (\d+)/.exec(line) ?? [];
      if (found !== undefined) resolve(found);
    });
  });
  const found = await Promise.race([port, closed]);
  lines.close();
  if (found === undefined) throw new Error(seen.join("\n"));
  return found;
}

/** The commands of crane that a release needs. */
export interface Crane {
  run(...args: readonly string[]): Promise<string>;
  /** Replaces the configuration of an image, and returns the digest of the new image, which gets the name. */
  editConfig(image: string, name: string, edit: (config: ImageConfig) => ImageConfig): Promise<string>;
}

/** https://github.com/opencontainers/image-spec/blob/v1.1.1/config.md */
export interface ImageConfig {
  readonly architecture: string;
  readonly os: string;
  readonly created?: string;
  readonly config?: Readonly<Record<string, unknown>> & { readonly Env?: readonly string[] };
  readonly history?: readonly object[];
}

export function createCrane(path: string, run: Run): Crane {
  return {
    run: (...args) => run(path, args),
    async editConfig(image, name, edit) {
      const config: ImageConfig = JSON.parse(await run(path, ["config", image]));
      await run(path, ["edit", "config", image, `--tag=${name}`], { input: JSON.stringify(edit(config)) });
      return (await run(path, ["digest", name])).trim();
    },
  };
}
