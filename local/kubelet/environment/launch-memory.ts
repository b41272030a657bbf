import type { Launch } from "../process/process.ts";
import { StartRefused } from "../start-refusal.ts";

/**
 * Of all containers that run on this node, and of those that start. A container keeps its environment while it runs, for commands within
 * it. 500 Pods with some variables for each of 100 Services take less.
 */
const nodeLaunchBytesMax = 128 * 1024 * 1024;

/** What the arguments and environments of all containers of the node take together. */
export class LaunchMemory {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number = nodeLaunchBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Counts a launch until disposed.
   *
   * @throws StartRefused with `CreateContainerConfigError` if there is no room for it; it may get room once others have ended.
   */
  hold(launch: Launch): Disposable {
    const bytes = bytesOf(launch);
    if (this.#bytes + bytes > this.#bytesMax) {
      const others = `those of the other containers of this node have ${this.#bytes}`;
      const message = `the arguments and the environment of the container have ${bytes} bytes, and ${others}, of at most ${this.#bytesMax}`;
      throw new StartRefused("CreateContainerConfigError", message);
    }
    this.#bytes += bytes;
    return {
      [Symbol.dispose]: () => {
        this.#bytes -= bytes;
      },
    };
  }
}

function bytesOf({ argv, environment }: Launch): number {
  let bytes = 0;
  for (const word of argv) bytes += Buffer.byteLength(word);
  for (const [name, value] of Object.entries(environment)) bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  return bytes;
}
