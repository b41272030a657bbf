import type { MemoryImage, MemoryImageSpec, MemoryImageStatus } from "../../../api/kinds/memory-image.ts";
import type { ObjectMeta, Stored } from "../../../api/kinds/meta.ts";

export interface ImageParts {
  readonly spec?: Partial<MemoryImageSpec>;
  readonly status?: MemoryImageStatus;
  readonly metadata?: ObjectMeta;
}

/** The image of the Pod `pod-1` of the sandbox of `aSandbox`. */
export const anImage = ({ spec, status, metadata }: ImageParts = {}): Stored<MemoryImage> => ({
  metadata: {
    name: `pod-${spec?.podUID ?? "pod-1"}`,
    namespace: "default",
    uid: `image-of-${spec?.podUID ?? "pod-1"}`,
    resourceVersion: "7",
    creationTimestamp: "2026-01-01T12:00:00Z",
    ...metadata,
  },
  spec: {
    sandboxUID: "uid-1",
    podName: "nova",
    podUID: "pod-1",
    nodeName: "node-1",
    runHash: "hash",
    timeoutSeconds: 10,
    stage: "Preflight",
    ...spec,
  },
  ...(status && { status }),
});

/** What the container `main` ran. */
export const busybox = `docker.io/library/busybox@sha256:${"c".repeat(64)}`;

export const aCapturedImage = ({ spec, status, metadata }: ImageParts = {}): Stored<MemoryImage> =>
  anImage({
    spec: { stage: "Capture", containerImages: [{ name: "main", image: busybox }], ...spec },
    status: { phase: "Captured", imageHash: "hash", runscVersion: "v1", ...status },
    ...(metadata && { metadata }),
  });
