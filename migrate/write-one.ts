import { isConflict, isNotFound } from "../kube/errors.ts";

const attemptsMax = 4;

/**
 * Writes one object, and again, a few times, where somebody else was first; `write` is told which attempt it is. What is deleted
 * meanwhile need not be written.
 */
export async function writeOne(
  write: (attempt: number) => Promise<unknown>,
  signal: AbortSignal,
): Promise<"written" | "gone" | Error> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await write(attempt);
      return "written";
    } catch (error) {
      if (signal.aborted) throw error;
      if (isNotFound(error)) return "gone";
      if (isConflict(error) && attempt < attemptsMax) continue;
      return error instanceof Error ? error : new Error(String(error));
    }
  }
}
