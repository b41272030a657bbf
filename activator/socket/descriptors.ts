import { readFileSync } from "node:fs";

/** File descriptors reserved for other files, and for connections to the sandboxes of clients that are connected already. */
const keptShare = 0.1;
const keptLeast = 64;
/** Reserved for other files and for the pages of the replica alone: a liveness probe must not fail because many clients want something. */
const keptFromDials = 56;

/**
 * The maximum number of sockets with which clients are still accepted. Beyond the limit of the process, libuv closes accepted
 * connections without an event, so they could not be counted. Undefined if the system reports no limit.
 */
export function socketsMax(limits: string | undefined = limitsOfThisProcess()): number | undefined {
  const descriptors = descriptorsOf(limits);
  return descriptors && Math.max(1, Math.floor(descriptors - Math.max(keptLeast, descriptors * keptShare)));
}

/** The maximum number of sockets with which sandboxes are still dialled. Undefined if the system reports no limit. */
export function dialledMax(limits: string | undefined = limitsOfThisProcess()): number | undefined {
  const descriptors = descriptorsOf(limits);
  return descriptors && Math.max(1, descriptors - keptFromDials);
}

function descriptorsOf(limits: string | undefined): number | undefined {
  const soft = /^Max open files\s+(\d+)\s/m.exec(limits ?? "")?.[1];
  return soft === undefined ? undefined : Number(soft);
}

/** Linux shows them in a file. */
function limitsOfThisProcess(): string | undefined {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    return undefined;
  }
}
