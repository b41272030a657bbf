import { existsSync } from "node:fs";
import { commandEnvironment, run } from "../command.ts";
import { bridgeFilterSetting } from "./kernel-settings.ts";
import { hiddenFolders } from "./mount-namespace.ts";

/** The programs of the machine that a cluster needs, and the Debian packages that contain them. */
const packages: Readonly<Record<string, string>> = {
  containerd: "containerd",
  runc: "runc",
  "/usr/lib/cni/bridge": "containernetworking-plugins",
  "/usr/lib/cni/host-local": "containernetworking-plugins",
  nft: "nftables",
  conntrack: "conntrack",
  ip: "iproute2",
  buildah: "buildah",
  busybox: "busybox-static",
  "/etc/ssl/certs/ca-certificates.crt": "ca-certificates",
};

/** The properties of a machine that a cluster depends on. */
export interface Machine {
  readonly platform: string;
  readonly isRoot: boolean;
  readonly hasGo: boolean;
  /** Whether the kernel can apply the rules of Services to the traffic of a bridge. */
  readonly filtersBridges: boolean;
  readonly missingPackages: readonly string[];
}

/** The missing things, one sentence each with the command that installs it; empty when the machine is ready. */
export function missing(machine: Machine, directory: string): readonly string[] {
  // The other checks apply to Linux only.
  if (machine.platform !== "linux") return ["a cluster needs Linux; on other systems, use `npm start`"];
  const hidden = hiddenFolders.find((folder) => directory === folder || directory.startsWith(`${folder}/`));
  return [
    ...(machine.isRoot ? [] : ["a cluster needs root: run `sudo npm run cluster`"]),
    ...(machine.hasGo ? [] : ["Kubernetes is built with Go 1.26 or newer: see https://go.dev/doc/install"]),
    // Only root can load it, so others are not told yet.
    ...(machine.filtersBridges || !machine.isRoot
      ? []
      : ["the kernel module br_netfilter is not loaded, and it could not be loaded: run `modprobe br_netfilter`"]),
    ...(machine.missingPackages.length === 0
      ? []
      : [`packages are missing: run \`${installCommand(machine.missingPackages)}\`, or add --install-packages`]),
    ...(hidden === undefined ? [] : [`--dir must not be below ${hidden}: the cluster mounts its own ${hidden}`]),
  ];
}

const installCommand = (names: readonly string[]) =>
  `apt-get update && apt-get install -y --no-install-recommends ${names.join(" ")}`;

export function observeMachine(environment: Readonly<Record<string, string | undefined>>): Machine {
  const absent = Object.keys(packages).filter((program) => !isThere(program));
  return {
    platform: process.platform,
    isRoot: process.getuid?.() === 0,
    hasGo: (environment["PATH"] ?? "").split(":").some((folder) => existsSync(`${folder}/go`)),
    filtersBridges: existsSync(bridgeFilterSetting),
    missingPackages: [...new Set(absent.map((program) => packages[program] ?? program))],
  };
}

function isThere(program: string): boolean {
  if (program.startsWith("/")) return existsSync(program);
  return commandEnvironment.PATH.split(":").some((folder) => existsSync(`${folder}/${program}`));
}

/** Installs packages with Debian's own tool. */
export async function installPackages(names: readonly string[]): Promise<void> {
  if (!isThere("apt-get")) throw new Error("--install-packages needs apt-get, which is not here");
  await run("sh", ["-c", `export DEBIAN_FRONTEND=noninteractive; ${installCommand(names)}`]);
}
