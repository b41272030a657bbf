import { existsSync } from "node:fs";
import type { Command } from "./daemon.ts";
import { type Layout, provisionerDirectory } from "./layout.ts";

// containerd and the kubelet make hundreds of mounts, and write to fixed places below /run and /var. In a mount
// namespace of their own neither is seen by the rest of the machine, a containerd that runs there is not disturbed, and
// when the last process of the cluster has gone, the kernel takes all of it away.

/** The process that keeps the namespace; it does nothing else. */
export function namespaceKeeper(layout: Layout): Command {
  const script = [
    "set -e",
    "mount --make-rshared /",
    "mount -t tmpfs -o mode=755,size=64m tmpfs /run",
    `mount --bind "$1" /var`,
    `mount --bind "$2" ${provisionerDirectory}`,
    "mkdir -p /var/tmp /var/log /var/lib",
    "ln -sfn /run /var/run",
    "touch /run/ready",
    "exec sleep infinity",
  ].join("\n");
  const args = ["--mount", "--propagation", "private", "--", "sh", "-c", script, "keeper", layout.var, layout.volumes];
  return { program: "unshare", args };
}

export const isNamespaceReady = (keeper: number): boolean => existsSync(`/proc/${keeper}/root/run/ready`);

/** Turns a command into one that runs inside. */
export function inNamespace(keeper: number, { program, args }: Command): Command {
  return { program: "nsenter", args: [`--mount=/proc/${keeper}/ns/mnt`, "--wd=/", "--", program, ...args] };
}

/** Folders that the cluster does not see as the machine does; its own directory must not lie there. */
export const hiddenFolders = ["/run", "/var", provisionerDirectory] as const;
