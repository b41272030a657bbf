import { readFileSync } from "node:fs";

/** Left for what is no socket of ours, and for connections to the sandboxes of those who are in already. */
const keptShare = 0.1;
const keptLeast = 64;

/**
 * How many sockets there may be before no client is let in any more. Beyond what the process may open, libuv closes what it
 * accepts without a word, so that nobody could count it. Undefined where the system does not say, or sets no limit.
 */
export function socketsMax(limits: string | undefined = limitsOfThisProcess()): number | undefined {
  const soft = /^Max open files\s+(\d+)\s/m.exec(limits ?? "")?.[1];
  if (soft === undefined) return undefined;
  const descriptors = Number(soft);
  return Math.max(1, Math.floor(descriptors - Math.max(keptLeast, descriptors * keptShare)));
}

/** Linux has them in a file. */
function limitsOfThisProcess(): string | undefined {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    return undefined;
  }
}
