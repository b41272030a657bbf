/** The addresses of Services. */
export interface ClusterIps {
  /**
   * Gives an address that no Service has.
   *
   * @throws Error when there is none left.
   */
  allocate(): string;
  /** Notes that a Service has this address; `None` and addresses from elsewhere do no harm. */
  reserve(address: string): void;
}

const size = 2 ** 20;

/**
 * Addresses of the loopback range 127.96.0.0/12, one after the other. None is given a second time while the process
 * runs: who has dialled a Service that is gone must not reach another.
 */
export function loopbackClusterIps(): ClusterIps {
  const taken = new Set<string>();
  let last = 0;
  return {
    allocate() {
      while (last < size - 1) {
        last += 1;
        const address = `127.${96 + (last >> 16)}.${(last >> 8) & 255}.${last & 255}`;
        if (!taken.has(address)) return address;
      }
      throw new Error("every address of 127.96.0.0/12 was given to a Service");
    },
    reserve: (address) => void taken.add(address),
  };
}
