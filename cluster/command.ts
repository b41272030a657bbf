import { execFile } from "node:child_process";

/** The environment of every command. Nothing of the caller's environment is passed on. */
export const commandEnvironment = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/root",
  LANG: "C.UTF-8",
} as const;

export class CommandFailed extends Error {
  override readonly name = "CommandFailed";
}

const longestCommandMs = 300_000;

/**
 * Runs a program to its end and returns its standard output.
 *
 * @throws CommandFailed when its exit status is not 0; the message has its standard error.
 */
export function run(program: string, args: readonly string[], input?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: commandEnvironment, timeout: longestCommandMs, maxBuffer: 64 << 20 };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const said = stderr.trim() || stdout.trim() || error.message;
      reject(new CommandFailed(`${program} ${args.join(" ")}: ${said}`, { cause: error }));
    });
    child.stdin?.on("error", () => {}); // it may exit without reading; its status is checked
    child.stdin?.end(input ?? "");
  });
}

/** Whether a program exits with status 0. */
export function succeeds(program: string, args: readonly string[], input?: string): Promise<boolean> {
  return run(program, args, input).then(
    () => true,
    () => false,
  );
}
