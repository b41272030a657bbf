import { ipv4Number, ipv4Text } from "../../../lib/net/ipv4.ts";
import { internalError } from "../../status-errors.ts";

/** The addresses of Services. */
export interface ClusterIps {
  /**
   * The next address that no Service has or had. It stays the next one until a Service is stored with it: a dry run takes none. Once each
   * address has been used, those that no Service has are given again.
   *
   * @throws StatusError 500, as from kube-apiserver, when each address has a Service.
   */
  next(): string;
  /** The reason why a Service may not have the address that it requests, in the words of an API server. */
  refusal(address: string): string | undefined;
  /** Records the address of a stored Service; `None` has no effect. */
  hold(address: string): void;
  /** Records that the Service with this address is gone. */
  release(address: string): void;
}

const first = 0x7f_60_00_00;
const wholeSize = 2 ** 20;
const range = "127.96.0.0/12";

/**
 * Addresses of the loopback range 127.96.0.0/12, in order, starting at number `start` of the first `size` ones. As long as there are unused
 * ones, no two Services get the same one: a client of a deleted Service must not reach another one. A Service that requests a
 * released address gets it.
 */
export function loopbackClusterIps(start = 1, size = wholeSize): ClusterIps {
  const held = new Set<string>();
  let used = new Set<string>();
  let given = 0;
  return {
    next() {
      for (const round of ["unused", "released"]) {
        if (round === "released") {
          used = new Set(held);
          given = 0;
        }
        for (; given < size; given += 1) {
          const address = toAddress((start + given) % size);
          if (address !== firstAddress && !used.has(address)) return address;
        }
      }
      throw internalError("failed to allocate a serviceIP: range is full");
    },
    refusal(address) {
      if (held.has(address)) return "provided IP is already allocated";
      return isInRange(address)
        ? undefined
        : `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${range}`;
    },
    hold(address) {
      held.add(address);
      used.add(address);
    },
    release: (address) => void held.delete(address),
  };
}

const toAddress = (offset: number): string => ipv4Text(first + offset);

/** The network's own address. */
const firstAddress = toAddress(0);

function isInRange(address: string): boolean {
  const number = ipv4Number(address);
  return number !== undefined && number > first && number < first + wholeSize;
}
