import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import type { Logger } from "../lib/log/log.ts";
import { ipv4Text } from "../lib/net/ipv4.ts";

/** The loopback addresses of one local mode, so that several on one machine do not collide. */
export interface LoopbackPlaces {
  /** The address of the activator for the Services of sandboxes: its own address of 127.112.0.0/12. */
  readonly activator: string;
  /** The offset of the first address for Services in their range. */
  readonly firstService: number;
}

/** Pods have 127.64.0.0/11 and Services 127.96.0.0/12. */
const activators = 0x7f_70_00_00;
const rangeSize = 2 ** 20;

/** Derived from the data directory, so that the next start on it has the same addresses as before. */
export function loopbackPlaces(dataDirectory: string): LoopbackPlaces {
  const seed = createHash("sha256").update(dataDirectory).digest();
  return {
    activator: ipv4Text(activators + (seed.readUInt32BE(0) % rangeSize)),
    firstService: seed.readUInt32BE(4) % rangeSize,
  };
}

/** The address, or 127.0.0.1 on a system where other loopback addresses must be configured first, such as macOS. */
export async function usableLoopback(address: string, log: Logger): Promise<string> {
  const server = createServer().listen(0, address);
  try {
    await once(server, "listening");
    return address;
  } catch (error) {
    log.warn(
      { err: error, address },
      "cannot listen on this loopback address. Each Pod and each Service has a loopback address, and cannot be reached until you add the address to this machine (on macOS: sudo ifconfig lo0 alias ADDRESS)",
    );
    return "127.0.0.1";
  } finally {
    server.close();
  }
}
