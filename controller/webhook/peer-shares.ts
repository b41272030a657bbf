import { isIPv4 } from "node:net";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Store } from "../../kube/informer/informer.ts";

// No address has this in it.
const namespacePrefix = "namespace/";

/** Pods by each address of their own, as an index of their informer. */
export const podAddressIndexes = {
  address: ({ spec, status }: Stored<Pod>): readonly string[] => {
    // Processes of its node have the address of such a Pod too. Another Pod may have the address of one that has ended.
    if (spec?.hostNetwork || status?.phase === "Succeeded" || status?.phase === "Failed") return [];
    const { podIP, podIPs = [] } = status ?? {};
    return [...new Set([podIP ?? "", ...podIPs.map(({ ip }) => ip)])].filter((ip) => ip !== "");
  },
};

/** Who shares what the webhook has: all Pods of a namespace one share. Any other address, as of an API server, has its own. */
export class PeerShares {
  #pods: Pick<Store<Pod, "address">, "by"> | undefined;

  /** Tells Pods apart from now on. The webhook starts before the stores. */
  follow(pods: Pick<Store<Pod, "address">, "by">): void {
    this.#pods = pods;
  }

  of(remoteAddress: string): string {
    const address = plainAddress(remoteAddress);
    const [pod] = this.#pods?.by("address", address) ?? [];
    return pod ? `${namespacePrefix}${pod.metadata.namespace}` : address;
  }
}

/** Addresses that are no Pod's come first: no tenant has one, and most API servers do. */
export const rankOfShare = (share: string): number => (share.startsWith(namespacePrefix) ? 1 : 0);

/** As Pods have it: an IPv4 address on a dual-stack socket is unwrapped. */
function plainAddress(remoteAddress: string): string {
  const plain = remoteAddress.replace(/^::ffff:/i, "");
  return isIPv4(plain) ? plain : remoteAddress.toLowerCase();
}
