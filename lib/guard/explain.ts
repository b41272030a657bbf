import { FlagError, type FlagTable, HelpRequested, usage } from "../flags/flags.ts";

export interface Explained {
  /** The prefix of messages on standard error. */
  readonly name: string;
  /** The command for the usage; default: the name. */
  readonly command?: string;
  readonly flags: FlagTable;
}

/** An error with its own exit status; default: 1. */
export interface WithExitStatus {
  readonly exitStatus: number;
}

/** Prints the reason why a program ends, and returns its exit status. */
export function explain(error: unknown, { name, command = name, flags }: Explained, process: NodeJS.Process): number {
  if (error instanceof HelpRequested) {
    process.stdout.write(usage(command, flags));
    return 0;
  }
  if (error instanceof FlagError) {
    process.stderr.write(`${error.message}\n\n${usage(command, flags)}`);
    return 2;
  }
  const message = error instanceof Error ? error.message : String(error);
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
  // Most messages include their cause already.
  process.stderr.write(`${name}: ${message}${cause === "" || message.includes(cause) ? "" : `: ${cause}`}\n`);
  return hasExitStatus(error) ? error.exitStatus : 1;
}

const hasExitStatus = (error: unknown): error is WithExitStatus =>
  error instanceof Error && "exitStatus" in error && typeof error.exitStatus === "number";
