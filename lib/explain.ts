import { FlagError, type FlagTable, HelpRequested, usage } from "./flags.ts";

export interface Explained {
  /** Before a message on the standard error. */
  readonly name: string;
  /** What a person types, for the usage; the name unless told. */
  readonly command?: string;
  readonly flags: FlagTable;
}

/** What an error that ends a program may say about the status: 1 unless told. */
export interface WithExitStatus {
  readonly exitStatus: number;
}

/** Says why a program ends by an error, and returns what its status is. */
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
  // Most messages say their cause already.
  process.stderr.write(`${name}: ${message}${cause === "" || message.includes(cause) ? "" : `: ${cause}`}\n`);
  return hasExitStatus(error) ? error.exitStatus : 1;
}

const hasExitStatus = (error: unknown): error is WithExitStatus =>
  error instanceof Error && "exitStatus" in error && typeof error.exitStatus === "number";
