import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** The heap bytes that `make` leaves in use, beside garbage. The caller keeps what it makes. */
export async function heapBytesOf(make: () => unknown): Promise<number> {
  const before = await heapBytes();
  await make();
  return (await heapBytes()) - before;
}

/** As `heapBytesOf`, with the content of buffers, which is not in the heap. */
export async function memoryBytesOf(make: () => unknown): Promise<number> {
  const before = await memoryBytes();
  await make();
  return (await memoryBytes()) - before;
}

/** The memory in use, beside garbage. */
export async function memoryInUse(): Promise<NodeJS.MemoryUsage> {
  collect();
  await new Promise(setImmediate); // finalizers, and callbacks that still refer to what has ended
  collect();
  return process.memoryUsage();
}

const heapBytes = async (): Promise<number> => (await memoryInUse()).heapUsed;

/** V8 frees the content of buffers on another thread, some time after they were collected: on a busy machine, later. */
async function memoryBytes(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let unchanged = 0; unchanged < unchangedRounds; ) {
    // A round after an unchanged one only gives that thread more time, and a collection takes as long as many tests.
    if (unchanged === 0) collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    const bytes = heapUsed + arrayBuffers;
    unchanged = bytes > least - noticedBytes ? unchanged + 1 : 0;
    least = Math.min(least, bytes);
    await new Promise((resolve) => setTimeout(resolve, roundMs));
  }
  return least;
}

const noticedBytes = 16_384;
const unchangedRounds = 2;
const roundMs = 20;
