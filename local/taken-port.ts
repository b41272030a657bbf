import { describeTakenPort } from "./messages.ts";

/** Another program listens on the port; the message names the flag that changes it. */
export class TakenPort extends Error {
  override readonly name = "TakenPort";
}

/** Runs `start`; when that port is taken or may not be had, says so with the flag that changes it. */
export async function namingThePort<T>(
  port: number,
  what: string,
  flagName: string,
  start: () => Promise<T>,
): Promise<T> {
  try {
    return await start();
  } catch (cause) {
    if (isTaken(cause, port)) throw new TakenPort(describeTakenPort(port, what, flagName), { cause });
    throw cause;
  }
}

function isTaken(error: unknown, port: number): boolean {
  if (!(error instanceof Error)) return false;
  const { code, port: taken = port } = error as NodeJS.ErrnoException & { readonly port?: number };
  return (taken === port && (code === "EADDRINUSE" || code === "EACCES")) || isTaken(error.cause, port);
}
