import { podType } from "../../../api/kinds/core.ts";
import { type MemoryImage, memoryImageType } from "../../../api/kinds/memory-image.ts";
import { keyFor, type Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { memoryImageAnnotation } from "../../../api/rules/keys.ts";
import type { KubeClient, Selection } from "../../../kube/client/client.ts";
import { ApiError } from "../../../kube/client/errors.ts";
import type { Informer } from "../../../kube/informer/informer.ts";
import { startInformer } from "../../../kube/informer/start-informer.ts";
import { withoutManagedFields } from "../../../kube/informer/without-managed-fields.ts";
import type { Logger } from "../../../lib/log/log.ts";
import { firstFailure, type Running } from "../../../lib/process/lifecycle.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { View } from "../observe.ts";
import { type ImageKey, imageKey } from "../store/image-key.ts";

export interface WatchingParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly nodeName: string;
}

export interface Watching extends Running {
  readonly view: View;
  readonly synced: Promise<void>;
  /** Whether the API server has not been reached for so long that nobody may count on this agent. */
  isCutOff(): boolean;
  /** The images that the API has for this node. */
  keys(): readonly ImageKey[];
  /** Calls back with the images that a change of the API may matter to, and with each Pod that has changed. */
  onChange(tell: { readonly image: (key: ImageKey) => void; readonly pod: (pod: Stored<Pod>) => void }): void;
}

/** An API server that is restarted is back before: the agents of all nodes would be unready at once. */
export const cutOffAfterMs = 30_000;

/** Follows the Pods and the MemoryImages of one node. */
export async function startWatching(parts: WatchingParts, signal: AbortSignal): Promise<Watching> {
  const { client, clock, log, nodeName } = parts;
  const fieldSelector = `spec.nodeName=${nodeName}`;
  const base = { client, clock, log };
  const selection = await selectionOfImages(parts, fieldSelector, signal);
  const stack = new AsyncDisposableStack();
  const pods = stack.use(
    startInformer<Pod, "uid">({
      ...base,
      type: podType,
      fieldSelector,
      indexes: { uid: ({ metadata }) => [metadata.uid] },
      transform: withoutManagedFields,
    }),
  );
  const images = stack.use(
    startInformer<MemoryImage, "pod">({
      ...base,
      ...selection,
      type: memoryImageType,
      indexes: { pod: ({ spec }) => [spec.podUID] },
      transform: withoutManagedFields,
    }),
  );
  const isOurs = (image: MemoryImage) => image.spec.nodeName === nodeName;
  return {
    view: viewOf(nodeName, pods, images),
    synced: Promise.all([pods.synced, images.synced]).then(() => {}),
    isCutOff: () => [pods, images].some((informer) => (informer.trouble()?.forMs ?? 0) >= cutOffAfterMs),
    failed: firstFailure(pods, images),
    keys: () => images.store.list().flatMap((image) => (isOurs(image) ? (keyOfImage(image) ?? []) : [])),
    onChange(tell) {
      const tellImages = (found: readonly (Stored<MemoryImage> | undefined)[]) => {
        for (const image of found) {
          const key = image && isOurs(image) ? keyOfImage(image) : undefined;
          if (key) tell.image(key);
        }
      };
      stack.use(images.onChange(({ previous, current }) => tellImages([previous, current])));
      stack.use(
        pods.onChange(({ previous, current }) => {
          const pod = current ?? previous;
          if (!pod) return;
          tellImages(images.store.by("pod", pod.metadata.uid));
          const { annotations, name, namespace } = pod.metadata;
          const wanted = imageKey(namespace, name, annotations?.[memoryImageAnnotation]);
          if (wanted) tell.image(wanted);
          tell.pod(pod);
        }),
      );
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function viewOf(nodeName: string, pods: Informer<Pod, "uid">, images: Informer<MemoryImage, "pod">): View {
  return {
    nodeName,
    podByUid: (uid) => pods.store.by("uid", uid)[0],
    podByName: (namespace, name) => pods.store.get(keyFor(namespace, name)),
    memoryImage({ namespace, image, pod }) {
      const found = images.store.get(keyFor(namespace, image));
      return found?.spec.nodeName === nodeName && found.spec.podName === pod ? found : undefined;
    },
  };
}

const keyOfImage = ({ metadata, spec }: Stored<MemoryImage>): ImageKey | undefined =>
  imageKey(metadata.namespace, spec.podName, metadata.name);

/** An API server that does not answer is asked again. */
const askAgainMs = 1_000;

/** An API server before Kubernetes 1.31 refuses a selector of this kind. Then all images come, and those of other nodes are ignored. */
async function selectionOfImages(parts: WatchingParts, fieldSelector: string, signal: AbortSignal): Promise<Selection> {
  const { client, clock, log } = parts;
  for (;;) {
    try {
      await client.list(memoryImageType, { fieldSelector, limit: 1 }, signal);
      return { fieldSelector };
    } catch (error) {
      if (error instanceof ApiError && error.code === 400) return {};
      signal.throwIfAborted();
      log.warn({ err: error }, "cannot ask the API server for the MemoryImages of this node; retrying in a second");
    }
    await clock.sleep(askAgainMs, signal);
  }
}
