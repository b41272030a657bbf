import type { Clock } from "../lib/time/clock.ts";
import { run, succeeds } from "./command.ts";
import { bridgeName, network } from "./network.ts";
import { waitUntil } from "./wait.ts";

interface Link {
  readonly ifname: string;
  readonly ifalias?: string;
}

async function links(...filter: readonly string[]): Promise<readonly Link[]> {
  return JSON.parse((await run("ip", ["-json", "link", "show", ...filter])) || "[]");
}

/** The directory of the cluster that runs on this machine. The bridge has it as its alias. */
export async function findOwner(): Promise<string | undefined> {
  return (await links("type", "bridge")).find(({ ifname }) => ifname === bridgeName)?.ifalias;
}

/** Creates the bridge for the Pods, with the node's address, if it does not exist. */
export async function makeBridge(owner: string): Promise<void> {
  if (!(await links("type", "bridge")).some(({ ifname }) => ifname === bridgeName)) {
    await run("ip", ["link", "add", bridgeName, "type", "bridge"]);
  }
  await run("ip", ["link", "set", bridgeName, "alias", owner]);
  await run("ip", ["address", "replace", `${network.node}/${network.podRangeBits}`, "dev", bridgeName]);
  await run("ip", ["link", "set", bridgeName, "up"]);
  // Traffic to a Service that does not exist must not leave the machine.
  await run("ip", ["route", "replace", network.serviceRange, "dev", bridgeName]);
}

const goneLimitMs = 20_000;
/** An arbitrary number: nothing else on the machine uses this group. */
const removedGroup = 19_818;

/**
 * Removes the bridge and the host ends of the Pods' links in one batch. The kernel would remove the links of a deleted
 * network namespace one by one and slowly.
 *
 * @throws when a link still exists after 20 s.
 */
export async function removeBridge(clock: Clock): Promise<void> {
  const isGone = async () => {
    const [bridge] = (await links("type", "bridge")).filter(({ ifname }) => ifname === bridgeName);
    if (!bridge) return true;
    const removed = [...(await links("master", bridgeName)), bridge];
    const commands = removed.map(({ ifname }) => `link set dev ${ifname} group ${removedGroup}`);
    // The batch fails for links that are gone meanwhile. This is no failure: the next check lists the links that
    // remain.
    await succeeds("ip", ["-force", "-batch", "-"], `${commands.join("\n")}\n`);
    await succeeds("ip", ["link", "delete", "group", `${removedGroup}`]);
    return false;
  };
  const complaint = () => `cannot remove the network bridge ${bridgeName}`;
  await waitUntil(isGone, { clock, limitMs: goneLimitMs, complaint });
}

/** Removes the packet filter's tables that kube-proxy leaves behind. */
export async function removeProxyRules(): Promise<void> {
  for (const family of ["ip", "ip6"]) {
    if (await succeeds("nft", ["list", "table", family, "kube-proxy"])) {
      await run("nft", ["delete", "table", family, "kube-proxy"]);
    }
  }
}
