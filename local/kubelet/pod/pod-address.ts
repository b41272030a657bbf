import { createHash } from "node:crypto";
import { ipv4Number, ipv4Text } from "../../../lib/net/ipv4.ts";

/** A range of IPv4 addresses: the first one as a number, and their number (a power of two). */
export interface AddressRange {
  readonly first: number;
  readonly size: number;
}

/**
 * Every address of 127.0.0.0/8 is local to this machine. This range is far from 127.0.0.1 and from the addresses of
 * system services (127.0.0.53), and ends at the range of Services.
 */
export const defaultPodNetwork = "127.64.0.0/11";

// A client may still use the address of a deleted Pod. A minute outlasts every cache here.
const quarantineMs = 60_000;

/** @throws RangeError unless it is a part of 127.0.0.0/8 with at least 256 addresses and without 127.0.0.1. */
export function parsePodNetwork(cidr: string): AddressRange {
  const match = /^(127\.\d{1,3}\.\d{1,3}\.\d{1,3})\/(\d{1,2})$/.exec(cidr);
  const prefix = Number(match?.[2]);
  const first = ipv4Number(match?.[1] ?? "");
  if (first === undefined || prefix < 8 || prefix > 24) throw new RangeError(`not a loopback network: ${cidr}`);
  const size = 2 ** (32 - prefix);
  if (first % size !== 0) throw new RangeError(`not the first address of a network: ${cidr}`);
  if (first <= loopback && loopback < first + size)
    throw new RangeError(`a Pod network must not contain 127.0.0.1: ${cidr}`);
  return { first, size };
}

/**
 * Allocates an address for each Pod. It is derived from the Pod's UID, so it needs no record on disk. If another Pod
 * has the address, or had it less than a minute ago, the next free one is used.
 */
export class PodAddresses {
  readonly #range: AddressRange;
  readonly #holders = new Map<string, string>();
  readonly #freedAtMs = new Map<string, number>();

  constructor(range: AddressRange) {
    this.#range = range;
  }

  /** Allocates the address of a Pod; `wished` is the address in its status, after a restart. */
  take(podUid: string, nowMs: number, wished?: string): string {
    this.#forgetOld(nowMs);
    if (wished !== undefined && this.#contains(wished) && this.#isFree(wished)) return this.#hold(wished, podUid);
    const seed = createHash("sha256").update(podUid).digest().readUInt32BE(0);
    for (let step = 0; step < this.#range.size; step += 1) {
      const address = ipv4Text(this.#range.first + ((seed + step) % this.#range.size));
      if (isUsable(address) && this.#isFree(address)) return this.#hold(address, podUid);
    }
    throw new RangeError("no Pod address is free");
  }

  /** Releases the address; it is not allocated again within a minute. */
  free(address: string, podUid: string, nowMs: number): void {
    if (this.#holders.get(address) !== podUid) return;
    this.#holders.delete(address);
    this.#freedAtMs.set(address, nowMs);
  }

  #hold(address: string, podUid: string): string {
    this.#holders.set(address, podUid);
    return address;
  }

  #isFree(address: string): boolean {
    return !this.#holders.has(address) && !this.#freedAtMs.has(address);
  }

  #contains(address: string): boolean {
    const number = ipv4Number(address);
    return number !== undefined && number >= this.#range.first && number < this.#range.first + this.#range.size;
  }

  #forgetOld(nowMs: number): void {
    for (const [address, freedAtMs] of this.#freedAtMs) {
      // The oldest come first, so the first recent one ends the loop.
      if (nowMs - freedAtMs < quarantineMs) return;
      this.#freedAtMs.delete(address);
    }
  }
}

const loopback = 0x7f_00_00_01;

// The first and last of each 256 resemble a network and its broadcast address, which some programs reject.
function isUsable(address: string): boolean {
  return !/\.(0|255)$/.test(address);
}
