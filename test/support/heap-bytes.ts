import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The heap bytes that `make` leaves in use, beside garbage. The caller keeps what it makes. */
export async function heapBytesOf(make: () => unknown): Promise<number> {
  const before = await heapBytes();
  await make();
  return (await heapBytes()) - before;
}

async function heapBytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  collect();
  await new Promise(setImmediate); // finalizers, and callbacks that still refer to what has ended
  collect();
  return process.memoryUsage().heapUsed;
}
