import { podType } from "../../../api/kinds/core.ts";
import { keyFor, type Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { sealOf } from "../../../api/rules/suspension.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isNotFound } from "../../../kube/client/errors.ts";
import type { OwnWrites } from "../../own-writes.ts";
import { ownershipOf } from "../../ownership.ts";
import { recordedPodName } from "../../sandbox/find-pod.ts";
import type { Observed } from "../../sandbox/observed.ts";
import { ownPodOf } from "./own-pod.ts";

interface PodReads {
  readonly client: KubeClient;
  readonly pods: OwnWrites<Pod, "trackedOwner">;
}

/** What a consistent read says. */
export interface PodRead {
  readonly name: string;
  /** Undefined: none of this name is the sandbox's. */
  readonly pod: Stored<Pod> | undefined;
}

/** The Pod of this name, by a consistent read, if it is of the sandbox. */
export async function readPod(
  sandbox: Stored<Sandbox>,
  name: string,
  { client, pods }: PodReads,
  signal: AbortSignal,
): Promise<PodRead> {
  const { namespace } = sandbox.metadata;
  try {
    const read = () => client.get(podType, { namespace, name }, signal);
    const pod = await pods.write(keyFor(namespace, name), read);
    return { name, pod: ownershipOf(pod, sandbox) === "owned" ? pod : undefined };
  } catch (error) {
    if (isNotFound(error)) return { name, pod: undefined };
    throw error;
  }
}

/** Whether the next step is about the Pod that was read. A seal that came meanwhile may name another one, of which the read says nothing. */
export function isOfNextStep({ name }: PodRead, seen: Pick<Observed, "sandbox" | "pods">): boolean {
  const { sandbox } = seen;
  const pod = ownPodOf(seen);
  const sealed = sealOf(sandbox);
  if (sealed && sealed.podUid !== pod?.uid) return name === sealed.podName;
  return name === (pod?.name ?? (recordedPodName(sandbox) || sandbox.metadata.name));
}
