import { podType } from "../../../api/kinds/core.ts";
import { keyFor, type Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isNotFound } from "../../../kube/client/errors.ts";
import type { OwnWrites } from "../../own-writes.ts";
import { ownershipOf } from "../../ownership.ts";
import type { OwnPod } from "./decide-suspension.ts";
import { asOwnPod } from "./own-pod.ts";

interface PodReads {
  readonly client: KubeClient;
  readonly pods: OwnWrites<Pod, "trackedOwner">;
}

/** The Pod of this name, by a consistent read; undefined if it is gone, or not of the sandbox. */
export async function readPod(
  sandbox: Stored<Sandbox>,
  name: string,
  { client, pods }: PodReads,
  signal: AbortSignal,
): Promise<OwnPod | undefined> {
  const { namespace } = sandbox.metadata;
  try {
    const read = () => client.get(podType, { namespace, name }, signal);
    const pod = await pods.write(keyFor(namespace, name), read);
    return ownershipOf(pod, sandbox) === "owned" ? asOwnPod(pod) : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
