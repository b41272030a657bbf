import { createServer } from "node:net";

/** The second byte of the addresses. Pods and Services of the local mode have those up to 127. */
const blocks = { first: 128, count: 112 };
/** No Pod listens here: the process that listens on this place of a block has the block. */
const blockPlace = { host: "255.254", port: 8887 };

/** Two processes have different blocks: the kernel lets only one of them listen. */
const block = await takeBlock();
let last = 0;

/** A loopback address that nothing else on this machine uses: not another test, and no local mode. */
export function nextLoopbackAddress(): string {
  last = (last + 1) % (254 * 254);
  return `127.${block}.${Math.floor(last / 254)}.${1 + (last % 254)}`;
}

async function takeBlock(): Promise<number> {
  for (let tried = 0; tried < blocks.count; tried += 1) {
    const candidate = blocks.first + ((process.pid + tried) % blocks.count);
    if (await listens(`127.${candidate}.${blockPlace.host}`)) return candidate;
  }
  throw new Error(`Each of the ${blocks.count} blocks of loopback addresses for tests is in use.`);
}

/** The server lives as long as the process, and keeps it from nothing. */
function listens(host: string): Promise<boolean> {
  const server = createServer((socket) => socket.destroy()).unref();
  return new Promise((resolve, reject) => {
    server.once("listening", () => resolve(true));
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve(false);
      else reject(error);
    });
    server.listen(blockPlace.port, host);
  });
}
