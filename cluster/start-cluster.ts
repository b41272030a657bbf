import { existsSync } from "node:fs";
import { lockDataDir } from "../apiserver/storage/data-dir-lock.ts";
import { stayAlive } from "../lib/process/stay-alive.ts";
import type { Clock } from "../lib/time/clock.ts";
import { makeBridge } from "./bridge.ts";
import { apiServer, apiServerClients, type BuiltPrograms, type Component, foundations } from "./components.ts";
import { type Daemon, ensureDaemon, lastLogLines } from "./daemon.ts";
import { claimDirectory } from "./directory/cluster-directory.ts";
import { makeCredentials } from "./directory/credentials.ts";
import { firstObjects } from "./first-objects.ts";
import { distrustFormerNode } from "./former-node.ts";
import { labelNode, linkShim, provideRuntimeClass } from "./gvisor.ts";
import { createKubectl, type Kubectl } from "./kubectl.ts";
import { type Layout, layoutOf } from "./layout.ts";
import { killClusterProcesses, makeCgroups, removePodCgroups } from "./machine/cgroup.ts";
import { changeKernelSettings } from "./machine/kernel-settings.ts";
import { isNamespaceReady, namespaceKeeper } from "./machine/mount-namespace.ts";
import { nodeName } from "./network.ts";
import { settingsFiles, writeSettings } from "./settings.ts";
import { type Inside, insideOf, startComponent } from "./start-component.ts";
import { waitUntil } from "./wait.ts";

export interface ClusterOptions {
  readonly directory: string;
  readonly programs: BuiltPrograms;
  readonly clock: Clock;
  /** Puts images into the container runtime; called once containerd runs, before any Pod starts. */
  readonly provideImages: (inside: Inside) => Promise<void>;
}

export interface Cluster {
  readonly layout: Layout;
  readonly kubectl: Kubectl;
}

/**
 * Starts a one-node cluster, or its missing parts. Changes nothing if everything runs.
 *
 * @throws DirectoryRefused, DataDirInUse
 * @throws when a component exits or does not become ready; the message has the end of its log.
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { directory, programs, clock } = options;
  const layout = layoutOf(directory);
  using _alive = stayAlive();
  await claimDirectory(layout);
  using _lock = lockDataDir(directory);
  await makeCredentials(layout, clock);
  const settings = settingsFiles(layout, programs.gvisor);
  writeSettings(layout, settings);
  if (programs.gvisor) linkShim(layout, programs.gvisor);
  changeKernelSettings(layout.kernelSettings);
  await makeBridge(directory);

  const keeper = await ensureNamespace(layout, clock);
  const inside = insideOf(layout, keeper.pid);
  const start = (component: Component) => startComponent(component, { inside, settings, clock });
  await Promise.all(foundations(layout, programs).map(start));
  await Promise.all([start(apiServer(layout, programs)), options.provideImages(inside)]);
  const kubectl = createKubectl(programs.kubectl, layout.kubeconfig("admin"));
  await kubectl.apply(firstObjects);
  await provideRuntimeClass(kubectl, layout, programs.gvisor);
  if (keeper.isNew) await distrustFormerNode(kubectl);
  await Promise.all(apiServerClients(layout, programs).map(start));
  await nodeIsReady(kubectl, clock);
  await labelNode(kubectl, programs.gvisor);
  return { layout, kubectl };
}

const keeperName = "mount-namespace";
const namespaceLimitMs = 10_000;

/** The process that keeps the components' mount namespace. */
async function ensureNamespace(layout: Layout, clock: Clock): Promise<Daemon> {
  makeCgroups();
  const { pid, isNew } = await ensureDaemon(keeperName, namespaceKeeper(layout), { layout, clock, settings: "" });
  // Processes in the former namespace, which cannot be entered any more, must be restarted.
  if (isNew) {
    await killClusterProcesses(clock, pid);
    removePodCgroups();
  }
  const explain = () => `cannot create the mount namespace:\n${lastLogLines(layout, keeperName)}`;
  const isReady = () => {
    if (!existsSync(`/proc/${pid}`)) throw new Error(explain());
    return isNamespaceReady(pid);
  };
  await waitUntil(isReady, { clock, limitMs: namespaceLimitMs, complaint: explain });
  return { pid, isNew };
}

const nodeLimitMs = 60_000;

async function nodeIsReady(kubectl: Kubectl, clock: Clock): Promise<void> {
  const condition = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}';
  const isReady = async () => {
    const args = ["get", "node", nodeName, "--ignore-not-found", "--output", condition];
    return (await kubectl.run(args)).trim() === "True";
  };
  const complaint = () => `node ${nodeName} does not become ready`;
  await waitUntil(isReady, { clock, limitMs: nodeLimitMs, complaint });
  // Pods can be created only after their ServiceAccount.
  const hasAccount = () => kubectl.succeeds(["get", "serviceaccount", "default", "--namespace=default"]);
  await waitUntil(hasAccount, {
    clock,
    limitMs: nodeLimitMs,
    complaint: () => "the default ServiceAccount was not created",
  });
}
