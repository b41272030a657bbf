import { existsSync } from "node:fs";
import type { Command } from "../daemon.ts";
import { type Layout, provisionerDirectory } from "../layout.ts";

// containerd and the kubelet create hundreds of mounts, and write to fixed paths below /run and /var. In a mount
// namespace of their own the rest of the machine does not see them, and another containerd on the machine is not
// disturbed. When the last process of the cluster has ended, the kernel removes all of it.

/** A process that only keeps the namespace open. */
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

/** Wraps a command so that it runs in the namespace. */
export function inNamespace(keeper: number, { program, args }: Command): Command {
  return { program: "nsenter", args: [`--mount=/proc/${keeper}/ns/mnt`, "--wd=/", "--", program, ...args] };
}

/** Folders that the cluster sees with a different content than the machine. Its own directory must not be in them. */
export const hiddenFolders = ["/run", "/var", provisionerDirectory] as const;
