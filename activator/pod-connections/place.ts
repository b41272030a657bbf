import type { Pod } from "../../api/kinds/core.ts";
import { SmallMap } from "../../lib/data/small-map.ts";
import { canonicalIp } from "../find/ip-address.ts";

/**
 * One address of a Pod. A Pod keeps its UID and may get another address, for example after its node was restarted; another Pod may
 * get this one. So what belongs to a connection is known by both.
 */
export interface PodAddress {
  readonly podUid: string;
  readonly ip: string;
}

/** A port of a Pod at one of its addresses. Namespace and UID belong together. */
export interface Place extends PodAddress {
  readonly namespace: string;
  readonly port: number;
}

export const isSamePlace = (one: Place, other: Place): boolean =>
  one.podUid === other.podUid && one.ip === other.ip && one.port === other.port;

export const placeOf = ({ namespace, podUid, ip, port }: Place): Place => ({ namespace, podUid, ip, port });

/** Host and port, as in a URL. */
export const authorityOf = ({ ip, port }: Pick<Place, "ip" | "port">): string =>
  `${ip.includes(":") ? `[${ip}]` : ip}:${port}`;

/** Names it in a map of rare uses; see `ByAddress` for those of each request. */
export const addressKey = ({ podUid, ip }: PodAddress): string => `${podUid} ${ip}`;

const none: readonly never[] = [];

/** Every address at which the Pod can be reached, as a target has it. A Pod that has ended has none. */
export function addressesOfPod({ status = {} }: Pod): readonly string[] {
  const { phase, podIP, podIPs = none } = status;
  if (phase === "Failed" || phase === "Succeeded") return none;
  const spelt = [podIP, ...podIPs.map(({ ip }) => ip)];
  return [...new Set(spelt.flatMap((ip) => (ip && canonicalIp(ip)) || []))];
}

/** A value for each address of each Pod. In two levels, because a lookup for each request must join no texts. */
export class ByAddress<T> {
  readonly #pods = new Map<string, SmallMap<string, T>>();

  get({ podUid, ip }: PodAddress): T | undefined {
    return this.#pods.get(podUid)?.get(ip);
  }

  set({ podUid, ip }: PodAddress, value: T): void {
    const addresses = this.#pods.get(podUid) ?? new SmallMap<string, T>();
    addresses.set(ip, value);
    this.#pods.set(podUid, addresses);
  }

  delete({ podUid, ip }: PodAddress): void {
    const known = this.#pods.get(podUid);
    known?.delete(ip);
    if (known?.size === 0) this.#pods.delete(podUid);
  }

  /** The number of Pods. */
  get pods(): number {
    return this.#pods.size;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const addresses of this.#pods.values()) yield* addresses.values();
  }
}
