import { once } from "node:events";
import { createServer } from "node:net";

/** Another process starts or ends a cluster on this machine. */
export class ClusterBusy extends Error {
  override readonly name = "ClusterBusy";

  constructor() {
    super("another `npm run cluster` is at work on this machine; wait until it has ended, or end it");
  }
}

/** A socket name that is no file. The kernel frees it with the process, however that ends. */
const socketName = "\0rouse-cluster";

/**
 * Lets one process at a time start or end a cluster. A cluster's bridge, cgroup and packet filter rules exist once on a machine. The
 * lock ends when it is disposed. Only Linux has such sockets, and only Linux can run a cluster.
 *
 * @throws ClusterBusy
 */
export async function lockMachine(name = socketName): Promise<AsyncDisposable> {
  const lock = createServer((socket) => socket.destroy()).unref();
  if (process.platform === "linux") {
    try {
      await once(lock.listen(name), "listening");
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") throw new ClusterBusy();
      throw error;
    }
  }
  return {
    async [Symbol.asyncDispose]() {
      if (!lock.listening) return;
      lock.close();
      await once(lock, "close");
    },
  };
}
