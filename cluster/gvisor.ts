import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { commandEnvironment } from "./command.ts";
import type { Command } from "./daemon.ts";
import type { Kubectl } from "./kubectl.ts";
import type { Layout } from "./layout.ts";
import { nodeName } from "./network.ts";

/** The paths of the programs that run Pods in gVisor. */
export interface Gvisor {
  readonly runsc: string;
  readonly shim: string;
}

const name = "gvisor";

/** Pods that name it run in gVisor. */
const runtimeClass = {
  apiVersion: "node.k8s.io/v1",
  kind: "RuntimeClass",
  metadata: { name },
  handler: name,
} as const;

export const runscSettingsFile = "runsc.toml";

/**
 * containerd's settings for the runtime. Only annotations of ours reach the shim: those of gVisor itself, `dev.gvisor.*`,
 * would let a Pod read and write files of the node.
 */
export const containerdRuntime = (layout: Layout): string => `
# Named too, because a runtime of our own replaces the list of the default ones.
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.${name}]
  runtime_type = "io.containerd.rouse.v1"
  pod_annotations = ["hibernation.rouse.dev/*"]

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.${name}.options]
  TypeUrl = "io.containerd.runsc.v1.options"
  ConfigPath = "${layout.settings(runscSettingsFile)}"
`;

/** Links the shim under the name by which containerd looks for it. */
export function linkShim(layout: Layout, { shim }: Gvisor): void {
  mkdirSync(layout.runtimes, { recursive: true });
  const link = join(layout.runtimes, "containerd-shim-rouse-v1");
  rmSync(link, { force: true });
  symlinkSync(shim, link);
}

/** A cluster that had gVisor before, and does not any more, loses the RuntimeClass: containerd does not know its handler. */
export async function provideRuntimeClass(kubectl: Kubectl, layout: Layout, gvisor?: Gvisor): Promise<void> {
  if (gvisor) return void (await kubectl.apply([runtimeClass]));
  if (!existsSync(layout.runtimes)) return;
  await kubectl.run(["delete", "runtimeclass", name, "--ignore-not-found"]);
  rmSync(layout.runtimes, { recursive: true });
}

/** The chart has a node agent run on the nodes with this label. */
const nodeLabel = "hibernation.rouse.dev/node";

export async function labelNode(kubectl: Kubectl, gvisor: Gvisor | undefined): Promise<void> {
  const label = gvisor ? `${nodeLabel}=true` : `${nodeLabel}-`;
  await kubectl.run(["label", "node", nodeName, label, "--overwrite"]);
}

/** A command of containerd that finds the shim. containerd 1.6 ignores `runtime_path` for the first container of a Pod. */
export const withShim = (layout: Layout, { program, args }: Command): Command => ({
  program: "env",
  args: [`PATH=${layout.runtimes}:${commandEnvironment.PATH}`, program, ...args],
});

/** The settings that the shim reads for each container. */
export const runscSettings = ({ runsc }: Gvisor): string => `binary_name = "${runsc}"

[runsc_config]
  # Needs neither KVM nor ptrace of the whole Pod.
  platform = "systrap"
  # By default a restore fails if the annotations differ. They do: one contains the UID of the Pod.
  restore-spec-validation = "warning"
`;
