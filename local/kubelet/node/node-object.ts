import { arch, availableParallelism, platform, release, totalmem } from "node:os";
import { nodeType } from "../../../api/kinds/core.ts";
import type { KubeObject } from "../../../api/kinds/meta.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isAlreadyExists } from "../../../kube/client/errors.ts";
import type { Logger } from "../../../lib/log/log.ts";
import type { Backoff } from "../../../lib/queues/backoff.ts";
import { repeatUntilDone } from "../../../lib/queues/repeat-until-done.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { OncePerMinute } from "../../../lib/time/once-per-minute.ts";
import { secondsTime } from "../container/container-state.ts";

export interface NodeObjectOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly nodeName: string;
  readonly hostIp: string;
  readonly podsMax: number;
}

const backoff: Backoff = { baseMs: 200, maxMs: 5_000, jitter: 0.2 };

/** Registers this machine as the one node; tries until it succeeds. The API server refuses writes while the disk is full. */
export async function registerNode(options: NodeObjectOptions, signal: AbortSignal): Promise<void> {
  const { clock, log } = options;
  const mayLog = new OncePerMinute(clock);
  const onFailure = (err: unknown, failures: number) => {
    if (mayLog.asks("failure")) log.warn({ err, failures }, "could not register this machine as a node; retrying");
    return undefined;
  };
  const round = () => writeNode(options, signal).then(() => undefined);
  await repeatUntilDone({ clock, signal, backoff, round, onFailure });
}

async function writeNode(options: NodeObjectOptions, signal: AbortSignal): Promise<void> {
  const { client, nodeName } = options;
  const labels = {
    "kubernetes.io/hostname": nodeName,
    "kubernetes.io/os": platform() === "win32" ? "windows" : platform(),
    "kubernetes.io/arch": arch() === "x64" ? "amd64" : arch(),
  };
  const node: KubeObject = { apiVersion: "v1", kind: "Node", metadata: { name: nodeName, labels } };
  try {
    await client.create(nodeType, node, {}, signal);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  // Without a precondition: whatever Node has this name stands for this machine.
  const patch = { type: "strategic", body: { status: statusOfMachine(options) } } as const;
  await client.patch(nodeType, { name: nodeName }, patch, { subresource: "status" }, signal);
}

function statusOfMachine({ clock, nodeName, hostIp, podsMax }: NodeObjectOptions): object {
  const now = secondsTime(clock.now());
  const capacity = { cpu: String(availableParallelism()), memory: `${totalmem()}`, pods: String(podsMax) };
  const ready = { type: "Ready", status: "True", reason: "KubeletReady", message: "the process runtime is running" };
  return {
    addresses: [
      { type: "InternalIP", address: hostIp },
      { type: "Hostname", address: nodeName },
    ],
    capacity,
    allocatable: capacity,
    conditions: [{ ...ready, lastHeartbeatTime: now, lastTransitionTime: now }],
    nodeInfo: { osImage: platform(), kernelVersion: release(), containerRuntimeVersion: "process://" },
  };
}
