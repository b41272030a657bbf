import { close, open, read } from "node:fs";
import { readdir } from "node:fs/promises";
import { promisify } from "node:util";

/** Each waits for one file at a time. Node reads at most as many files at once. */
const readersMax = 4;
/** More than the environment of most processes. */
const firstBytes = 16_384;

const opened = promisify(open);
const closed = promisify(close);
/** Space that no reader uses at the moment: a machine has hundreds of processes, and each would need its own. */
const spare: Buffer[] = [];

/** What `inspect` finds of each process of this machine, in any order. Without `/proc` there is none. */
export async function ofEachProcess<T>(inspect: (pid: number) => Promise<T | undefined>): Promise<readonly T[]> {
  const names = await readdir("/proc").catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).values();
  const found: T[] = [];
  const inspectSome = async () => {
    for (const pid of pids) {
      const seen = await inspect(Number(pid));
      if (seen !== undefined) found.push(seen);
    }
  };
  await Promise.all(Array.from({ length: readersMax }, inspectSome));
  return found;
}

/**
 * Reads a file of a process, such as `stat`. Returns what `use` makes of the content, which must not keep it; undefined if the
 * process is gone or this user may not read it.
 */
export async function readOfProcess<T>(pid: number, file: string, use: (content: Buffer) => T): Promise<T | undefined> {
  let descriptor: number;
  try {
    descriptor = await opened(`/proc/${pid}/${file}`, "r");
  } catch {
    return undefined;
  }
  let space = spare.pop() ?? Buffer.allocUnsafeSlow(firstBytes);
  try {
    let length = 0;
    for (;;) {
      const count = await readInto(descriptor, space, length);
      length += count;
      // The kernel fills the space unless the file ends before.
      if (length < space.length) return use(space.subarray(0, length));
      space = Buffer.concat([space], 2 * space.length);
    }
  } catch {
    return undefined;
  } finally {
    if (space.length === firstBytes && spare.length < readersMax) spare.push(space);
    await closed(descriptor);
  }
}

/** Resolves with the number of bytes that were read. */
function readInto(descriptor: number, space: Buffer, at: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(descriptor, space, at, space.length - at, null, (error, count) => (error ? reject(error) : resolve(count)));
  });
}
