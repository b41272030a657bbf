import type { Clock } from "../lib/clock.ts";
import { run, succeeds } from "./command.ts";
import { bridgeName, network } from "./network.ts";

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
const lookEveryMs = 100;

/** Removes the bridge, once the kernel has taken away the ends of the Pods that hung on it. */
export async function removeBridge(clock: Clock): Promise<void> {
  if (!(await links("type", "bridge")).some(({ ifname }) => ifname === bridgeName)) return;
  const startMs = clock.ticksMs();
  while ((await links("master", bridgeName)).length > 0 && clock.ticksMs() - startMs < goneLimitMs) {
    await clock.sleep(lookEveryMs);
  }
  for (const { ifname } of await links("master", bridgeName)) await run("ip", ["link", "delete", ifname]);
  await run("ip", ["link", "delete", bridgeName]);
}

/** Removes the packet filter's tables that kube-proxy leaves behind. */
export async function removeProxyRules(): Promise<void> {
  for (const family of ["ip", "ip6"]) {
    if (await succeeds("nft", ["list", "table", family, "kube-proxy"])) {
      await run("nft", ["delete", "table", family, "kube-proxy"]);
    }
  }
}
