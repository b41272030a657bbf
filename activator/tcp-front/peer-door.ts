import { type Doorkeeper, isOutsider, refusalNow, refusalOf } from "./admit-peer.ts";
import type { TcpDoor } from "./connection/tcp-door.ts";

/** The door of activator ports: the address of the client decides. */
export function doorOfPeers(doorkeeper: Doorkeeper): TcpDoor {
  return {
    refusalOf: (client, to) => refusalOf(client, to, doorkeeper),
    isOutsider: ({ peer }, to) => isOutsider(peer, to, doorkeeper),
    laterRefusalOf({ peer }, to) {
      const refusal = refusalNow(peer, to, doorkeeper);
      return refusal === "NoPod" ? undefined : refusal; // a Pod that has sent its data may have ended: its data counts
    },
  };
}
