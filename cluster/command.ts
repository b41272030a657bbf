import { execFile } from "node:child_process";

/** What every command is given to find its programs with; nothing of the caller's environment is passed on. */
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
 * Runs a program to its end and returns what it wrote to standard output.
 *
 * @throws CommandFailed when it ends with another status than 0; the message has what it wrote to standard error.
 */
export function run(program: string, args: readonly string[], input?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: commandEnvironment, timeout: longestCommandMs, maxBuffer: 64 << 20 };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const said = stderr.trim() || stdout.trim() || error.message;
      reject(new CommandFailed(`${program} ${args.join(" ")}: ${said}`, { cause: error }));
    });
    child.stdin?.on("error", () => {}); // it may end without reading; its status tells
    child.stdin?.end(input ?? "");
  });
}

/** Whether a program ends well; for questions whose answer is its status. */
export function succeeds(program: string, args: readonly string[], input?: string): Promise<boolean> {
  return run(program, args, input).then(
    () => true,
    () => false,
  );
}
