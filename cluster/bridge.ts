import type { Clock } from "../lib/clock.ts";
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

/** The directory of the cluster that runs on this machine, whichever it is: the bridge bears its name. */
export async function findOwner(): Promise<string | undefined> {
  return (await links("type", "bridge")).find(({ ifname }) => ifname === bridgeName)?.ifalias;
}

/** Makes the bridge that Pods hang on, with the node's address; leaves one that is there already. */
export async function makeBridge(owner: string): Promise<void> {
  if (!(await links("type", "bridge")).some(({ ifname }) => ifname === bridgeName)) {
    await run("ip", ["link", "add", bridgeName, "type", "bridge"]);
  }
  await run("ip", ["link", "set", bridgeName, "alias", owner]);
  await run("ip", ["address", "replace", `${network.node}/${network.podRangeBits}`, "dev", bridgeName]);
  await run("ip", ["link", "set", bridgeName, "up"]);
  // What is sent to a Service that does not exist must not leave the machine.
  await run("ip", ["route", "replace", network.serviceRange, "dev", bridgeName]);
}

const goneLimitMs = 20_000;
/** Of no meaning but that nothing else on the machine is in it. */
const doomedGroup = 19_818;

/**
 * Removes the bridge and the ends of the Pods that hang on it: at once, for the kernel is in no hurry to take away what a network
 * namespace leaves, and does it one by one.
 *
 * @throws when something is still there after 20 s.
 */
export async function removeBridge(clock: Clock): Promise<void> {
  const isGone = async () => {
    const [bridge] = (await links("type", "bridge")).filter(({ ifname }) => ifname === bridgeName);
    if (!bridge) return true;
    const doomed = [...(await links("master", bridgeName)), bridge];
    const commands = doomed.map(({ ifname }) => `link set dev ${ifname} group ${doomedGroup}`);
    // What has gone meanwhile cannot be named any more: that is no failure, and the next look tells.
    await succeeds("ip", ["-force", "-batch", "-"], `${commands.join("\n")}\n`);
    await succeeds("ip", ["link", "delete", "group", `${doomedGroup}`]);
    return false;
  };
  const complaint = () => `the network bridge ${bridgeName} cannot be removed`;
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
