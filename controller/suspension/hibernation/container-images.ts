// The images of the containers of a Pod, by their content. A tag may be moved while a sandbox sleeps.
import {
  type ContainerImage,
  containerIdLengthMax,
  containerImageLengthMax,
  containerImagesMax,
} from "../../../api/kinds/memory-image.ts";
import type { Container, ContainerStatus, Pod, PodSpec } from "../../../api/kinds/pod.ts";

/** A repository with the digest of a manifest, or the digest alone of an image that was imported and never pulled. */
const byDigest = /^(?:[^\s@]+@)?sha256:[0-9a-f]{64}$/;
const isDigestAlone = (image: string): boolean => image.startsWith("sha256:");

/** Some runtimes write `docker-pullable://` or the like before it. */
const withoutScheme = (imageId: string): string => imageId.replace(/^[a-z0-9.+-]+:\/\//, "");

function idOf(containerId = ""): Pick<ContainerImage, "containerID"> {
  const containerID = withoutScheme(containerId);
  return containerID !== "" && containerID.length <= containerIdLengthMax ? { containerID } : {};
}

/** What each container of a Pod runs, from its status; undefined: that is not known of all. */
export function containerImagesOf({ status }: Pick<Pod, "status">): readonly ContainerImage[] | undefined {
  const { containerStatuses = [] } = status ?? {};
  const images = containerStatuses.map(({ name, imageID, containerID }) => ({
    ...{ name, image: withoutScheme(imageID) },
    ...idOf(containerID),
  }));
  const areKnown = images.every(({ image }) => byDigest.test(image) && image.length <= containerImageLengthMax);
  return areKnown && images.length > 0 && images.length <= containerImagesMax ? images : undefined;
}

/** The spec with its images named by these; undefined: one is missing. */
export function withImages(spec: PodSpec, images: readonly ContainerImage[]): PodSpec | undefined {
  const byName = new Map(images.map(({ name, image }) => [name, image]));
  const containers = spec.containers.flatMap((container) => {
    const image = byName.get(container.name);
    return image === undefined ? [] : [named(container, image)];
  });
  return containers.length === spec.containers.length ? { ...spec, containers } : undefined;
}

/**
 * A digest alone names no registry: a pull would ask a registry for an image of that name. With a repository it says what is meant, and the node
 * of the captured Pod has it as a rule. So no registry has to answer for a restore.
 */
const named = (container: Container, image: string): Container => ({
  ...container,
  ...{
    image,
    imagePullPolicy: isDigestAlone(image) || container.imagePullPolicy === "Never" ? "Never" : "IfNotPresent",
  },
});

/** What the kubelet says of a container whose image it will never get. */
const hopeless: ReadonlySet<string | undefined> = new Set(["InvalidImageName", "ErrImageNeverPull"]);

/** What it says of one whose image it has not got. It tries again: the registry may be back in a moment. */
const passing: ReadonlySet<string | undefined> = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "ImageInspectError",
  "RegistryUnavailable",
  "SignatureValidationFailed",
]);

/** How long the images of a Pod that is to be restored may be missing. The kubelet tries for the third time after about 30 s. */
export const imagesLimitMs = 40_000;

/** A container that has run before, and cannot start again, is another matter: the Pod has lived. */
const hasNeverRun = ({ containerID, restartCount, lastState }: ContainerStatus): boolean =>
  !containerID && restartCount === 0 && !lastState?.terminated;

const neverRan = ({ status }: Pod, reasons: ReadonlySet<string | undefined>): boolean =>
  status?.containerStatuses?.some((one) => reasons.has(one.state?.waiting?.reason) && hasNeverRun(one)) === true;

/** Whether a container of the Pod has never run because its image is not there, and may come. */
export const waitsForAnImage = (pod: Pod): boolean => neverRan(pod, passing);

/** Whether a container of the Pod has never run because its image cannot be had. */
export const isWithoutHope = (pod: Pod): boolean => neverRan(pod, hopeless);

/** Whether a container of the Pod has run, or the Pod has ended. */
export const hasStarted = ({ status: { phase = "Pending", containerStatuses = [] } = {} }: Pod): boolean =>
  phase !== "Pending" || !containerStatuses.every((one) => hasNeverRun(one) && !one.state?.running);
