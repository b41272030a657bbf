import { execFile } from "node:child_process";

const longestCommandMs = 300_000;

export interface CommandOptions {
  readonly directory?: string;
  readonly input?: string;
  /** Variables in addition to those of the runner. */
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Runs a program to its end, for at most five minutes, and returns what it wrote to standard output.
 *
 * @throws when the program is not there, or ends with another status than 0; the message has what it wrote to standard error.
 */
export type Run = (program: string, args: readonly string[], options?: CommandOptions) => Promise<string>;

/** A runner whose programs sort, and write dates, the same on every machine. */
export function createRun(environment: Readonly<Record<string, string | undefined>>): Run {
  const common = { ...environment, LC_ALL: "C", TZ: "UTC" };
  return (program, args, options = {}) =>
    new Promise((resolve, reject) => {
      const child = execFile(
        program,
        args,
        {
          cwd: options.directory,
          env: { ...common, ...options.environment },
          timeout: longestCommandMs,
          maxBuffer: 64 << 20,
        },
        (error, stdout, stderr) => {
          if (!error) return resolve(stdout);
          if (error.code === "ENOENT") return reject(new Error(`there is no program "${program}" on the PATH`));
          const said = stderr.trim() || stdout.trim() || error.message;
          reject(new Error(`${program} ${args.join(" ")}: ${said}`));
        },
      );
      child.stdin?.on("error", () => {}); // it may exit without reading; its status is checked
      child.stdin?.end(options.input ?? "");
    });
}
