import { isConflict } from "./errors.ts";

/** How often another client may change the object in between. */
const attemptsMax = 5;

/**
 * Attempts a write that follows from what it reads, and attempts it again if another client has changed the object in between.
 *
 * @throws ApiError 409 when it keeps changing, or what else `attempt` throws.
 */
export async function afterConflicts<T>(attempt: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isConflict(error) || attempts === attemptsMax) throw error;
    }
  }
}
