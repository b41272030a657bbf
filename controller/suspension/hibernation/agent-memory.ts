import type { MemoryImage } from "../../../api/kinds/memory-image.ts";
import { keyFor, keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { runHashAnnotation } from "../../../api/rules/keys.ts";
import { sealOf } from "../../../api/rules/suspension.ts";
import type { Store } from "../../../kube/informer/informer.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { OwnWrites, View } from "../../own-writes.ts";
import { ownershipOf } from "../../ownership.ts";
import { said } from "./capture-state.ts";
import { containerImagesOf } from "./container-images.ts";
import { holdsMemory, imageNameOf, isOf } from "./images.ts";
import type { AskedPod, MemoryProvider, MemoryRefusal, SeenImages } from "./memory-provider.ts";
import { hasReadyAgent } from "./node-agents.ts";
import { restoreWaitOf } from "./restore.ts";
import type { Signer } from "./signing.ts";

/** MemoryImages by the Sandbox that they are of, and by the node that they are on. */
export const imageIndexes = {
  sandboxUid: ({ spec }: Stored<MemoryImage>): readonly string[] => [spec.sandboxUID],
  node: ({ spec }: Stored<MemoryImage>): readonly string[] => [spec.nodeName],
};

export interface AgentMemoryOptions {
  readonly images: View<MemoryImage>;
  readonly store: Pick<Store<MemoryImage, "sandboxUid">, "by">;
  readonly agents: Pick<Store<Pod, "readyOn">, "by">;
  readonly signer: Pick<Signer, "canSign">;
  readonly sandboxes: Pick<OwnWrites<Sandbox>, "onGone">;
  readonly clock: Clock;
}

interface Wait {
  readonly for: string;
  readonly sinceMs: number;
}

/** The provider of a cluster with node agents: they answer by the status of MemoryImages. */
export class AgentMemory implements MemoryProvider, Disposable {
  readonly #options: AgentMemoryOptions;
  /** By the sandbox's UID. In monotonic time, so a new leader waits anew. */
  readonly #waits = new Map<string, Wait>();
  readonly #subscription: Disposable;

  constructor(options: AgentMemoryOptions) {
    this.#options = options;
    this.#subscription = options.sandboxes.onGone(({ metadata }) => void this.#waits.delete(metadata.uid));
  }

  /** For how many sandboxes it remembers since when the controller waits. */
  get waits(): number {
    return this.#waits.size;
  }

  preflight(pod: AskedPod): MemoryRefusal | undefined {
    const { metadata, spec } = pod;
    // Nothing is known about the Pod that a template describes.
    if (metadata?.uid === undefined) return undefined;
    if (metadata.annotations?.[runHashAnnotation] === undefined) return tooOld;
    if (!this.#options.signer.canSign()) return noKey;
    // What an agent has answered says nothing once the agent is gone.
    if (spec?.nodeName !== undefined && !hasReadyAgent(this.#options.agents, spec.nodeName)) return notReady;
    const image = this.#options.images.get(keyFor(metadata.namespace, imageNameOf(metadata.uid)));
    const answer = image?.spec.podUID === metadata.uid ? image.status?.preflight : undefined;
    if (!answer) return noAnswer;
    if (answer.capturable) return containerImagesOf(pod) ? undefined : noContainerImages;
    return {
      reason: "AgentRefused",
      message: said("the node agent cannot capture the Pod", answer.reason, answer.message),
    };
  }

  seen(sandbox: Stored<Sandbox>, pods: readonly Stored<Pod>[]): SeenImages {
    const images = this.#imagesOf(sandbox, pods);
    const canSign = this.#options.signer.canSign();
    const { uid } = sandbox.metadata;
    const waitsFor = nextOf(sandbox, pods, images);
    if (waitsFor === undefined) {
      this.#waits.delete(uid);
      return { images, waitedMs: 0, canSign };
    }
    const nowMs = this.#options.clock.ticksMs();
    const known = this.#waits.get(uid);
    const wait = known?.for === waitsFor ? known : { for: waitsFor, sinceMs: nowMs };
    this.#waits.set(uid, wait);
    return { images, waitedMs: nowMs - wait.sinceMs, canSign };
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }

  /** The index may not have those yet that the controller has just made, so it looks for them by name. */
  #imagesOf(sandbox: Stored<Sandbox>, pods: readonly Stored<Pod>[]): readonly Stored<MemoryImage>[] {
    const { images, store } = this.#options;
    const { namespace, uid } = sandbox.metadata;
    const uids = [sealOf(sandbox)?.podUid, ...pods.map(({ metadata }) => metadata.uid)];
    const named = uids.flatMap((podUid) => (podUid === undefined ? [] : [keyFor(namespace, imageNameOf(podUid))]));
    const keys = new Set([...store.by("sandboxUid", uid).map(keyOf), ...named]);
    return [...keys].flatMap((key) => images.get(key) ?? []).filter((image) => isOf(image, sandbox));
  }
}

/** What the controller waits for; undefined: nothing that has an end. */
function nextOf(
  sandbox: Stored<Sandbox>,
  pods: readonly Stored<Pod>[],
  images: readonly Stored<MemoryImage>[],
): string | undefined {
  const capturing = images.find(({ spec, status }) => {
    return spec.stage === "Capture" && (status?.phase === undefined || status.phase === "Capturing");
  });
  if (capturing) return `capture ${capturing.metadata.uid}`;
  const own = pods.filter((pod) => ownershipOf(pod, sandbox) === "owned");
  const captured = images.find(
    (image) => holdsMemory(image) && own.some(({ metadata }) => metadata.uid === image.spec.podUID),
  );
  if (captured) return `status of ${captured.metadata.uid}`;
  const waits = own.flatMap((pod) => {
    const wait = restoreWaitOf(pod, images);
    return wait ? [`${wait.for} of ${pod.metadata.uid}`] : [];
  });
  return waits[0];
}

const tooOld: MemoryRefusal = {
  reason: "PodTooOld",
  message: "the Pod was created before the sandbox was to hibernate, or before hibernation was enabled",
};
const noKey: MemoryRefusal = {
  reason: "NoSigningKey",
  message:
    "the controller cannot read or make its signing key, or cannot write the public half of the key for the nodes",
};
const notReady: MemoryRefusal = { reason: "AgentNotReady", message: "its node has no node agent that is ready" };
const noAnswer: MemoryRefusal = {
  reason: "NoAnswer",
  message: "the node agent has not said yet whether it can keep the memory of this Pod",
};
const noContainerImages: MemoryRefusal = {
  reason: "ContainerImageUnknown",
  message: "the status of the Pod does not name the container image of each container by its digest",
};
