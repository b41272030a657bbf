import { isConflict, isNotFound } from "../../kube/client/errors.ts";

const attemptsMax = 4;

/**
 * Writes one object. Retries a few times on a conflict; `write` gets the number of the attempt. A deleted object needs
 * no write.
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
