import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { ipv4Text } from "../lib/ipv4.ts";
import type { Logger } from "../lib/log.ts";

/** Where on the loopback network the parts of one local mode are, so that several on one machine do not meet. */
export interface LoopbackPlaces {
  /** Of the activator as the Services of sandboxes lead to it: an address of 127.112.0.0/12, its own. */
  readonly activator: string;
  /** Which address of their range Services are given first. */
  readonly firstService: number;
}

/** Pods have 127.64.0.0/11 and Services 127.96.0.0/12. */
const activators = 0x7f_70_00_00;
const rangeSize = 2 ** 20;

/** By the data directory, so that the next start on it finds what clients and slices of the last one remember. */
export function loopbackPlaces(dataDirectory: string): LoopbackPlaces {
  const seed = createHash("sha256").update(dataDirectory).digest();
  return {
    activator: ipv4Text(activators + (seed.readUInt32BE(0) % rangeSize)),
    firstService: seed.readUInt32BE(4) % rangeSize,
  };
}

/** The address, or 127.0.0.1 on a system that has no other address until it is set up, as on macOS. */
export async function usableLoopback(address: string, log: Logger): Promise<string> {
  const server = createServer().listen(0, address);
  try {
    await once(server, "listening");
    return address;
  } catch (error) {
    log.warn(
      { err: error, address },
      "this system has only the loopback address 127.0.0.1: Pods and Services that want one of their own cannot be reached until it is set up",
    );
    return "127.0.0.1";
  } finally {
    server.close();
  }
}
