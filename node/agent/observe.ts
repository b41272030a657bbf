import type { MemoryImage } from "../../api/kinds/memory-image.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import { memoryImageAnnotation } from "../../api/rules/keys.ts";
import type { Thaws } from "./capture/thaws.ts";
import { isEnding, type Observed, type Room, type StoreLimits } from "./decide/observed.ts";
import type { Doors } from "./doors/doors.ts";
import type { ImageKey } from "./store/image-key.ts";
import type { Mark } from "./store/image-store.ts";
import { isUid } from "./store/records.ts";
import { ForeignStore, type StoreIdentity } from "./store/store-file.ts";
import { hasPublicKey, publicKeysPath } from "./watch/keep-public-keys.ts";

/** What the agent sees of the API: all Pods and MemoryImages of its node. */
export interface View {
  readonly nodeName: string;
  memoryImage(key: ImageKey): Stored<MemoryImage> | undefined;
  podByUid(uid: string): Stored<Pod> | undefined;
  podByName(namespace: string, name: string): Stored<Pod> | undefined;
}

export interface ObserveParts {
  readonly view: View;
  readonly doors: Doors;
  readonly limits: StoreLimits;
  /** The folder whose disk counts. */
  readonly storeRoot: string;
  /** The store that the agent works with. */
  readonly identity: StoreIdentity;
  readonly thaws: Pick<Thaws, "has">;
  /** For how long the agent has seen that the capture of an image is asked for, and has not ended; 0: it is not. */
  readonly askedForMs: (image: Stored<MemoryImage> | undefined) => number;
  /** For how long the agent has seen these marks; 0: there are none. */
  readonly markedForMs: (marks: readonly Mark[]) => number;
  /** For how long the agent has seen that a Pod is being deleted, or that one that should be there is gone; 0: neither. */
  readonly endingMs: (role: "captured" | "user", pod: Stored<Pod> | undefined, isExpected?: boolean) => number;
}

/** All but what other images may free: that is looked for only where there is no room. */
export type Seen = Omit<Observed, "evictable">;

/**
 * The store is checked before and after: what is not in a folder whose disk is not mounted may be on the disk.
 *
 * @throws ForeignStore
 */
export async function observe(key: ImageKey, parts: ObserveParts, signal: AbortSignal): Promise<Seen> {
  const { store, storeFile } = parts.doors;
  try {
    await storeFile.check(parts.identity);
    const observed = await look(key, parts, signal);
    await storeFile.check(parts.identity);
    return observed;
  } catch (error) {
    // What was measured may be of another disk.
    if (error instanceof ForeignStore) store.sizes.forget();
    throw error;
  }
}

/** Where nobody asks for room. */
const unasked: Room = { usedBytes: 0, byNamespace: new Map(), freeBytes: Number.POSITIVE_INFINITY, untakenBytes: 0 };

async function look(key: ImageKey, parts: ObserveParts, signal: AbortSignal): Promise<Seen> {
  const { doors, limits, storeRoot, view } = parts;
  const { clock, files, records, runsc, sandboxes, store, trial } = doors;
  const memoryImage = view.memoryImage(key);
  const asking = askingFor(key, view);
  // A shim leaves its mark before the Pod runs. So if the agent sees that the Pod runs, and looks for the mark after that, it finds the mark.
  const isAskingAlive = asking !== undefined && (await isAlive(asking, key, sandboxes));
  const disk = await store.read(key);
  const { tombstone, failed } = await records.ofImage(key);
  const podUID = (tombstone ?? failed)?.podUID ?? memoryImage?.spec.podUID ?? disk.image?.podUID;
  const isNamed = podUID !== undefined && isUid(podUID);
  const other = isNamed && !tombstone ? await records.tombstoneOf(podUID) : undefined;
  const pod = isNamed ? view.podByUid(podUID) : undefined;
  const sandbox = isNamed ? await sandboxes.ofPod(podUID) : undefined;
  const user = asking?.metadata.uid === podUID ? undefined : asking;
  const marked = disk.marks.find(({ name }) => name === "");
  const userSandbox = await sandboxes.withId(marked?.container ?? "");
  // The Pod that the mark names may be gone from the API while gVisor still has it, and another one may have its name.
  const holder = marked && isUid(marked.pod) ? view.podByUid(marked.pod) : user;
  // Only a Pod that may be captured needs to know all this.
  const needsRoom = memoryImage !== undefined && !isEnding(pod) && !tombstone && !disk.image;
  return {
    key,
    nodeName: view.nodeName,
    nowMs: clock.now().getTime(),
    memoryImage,
    askedForMs: parts.askedForMs(memoryImage),
    podUID,
    pod,
    endingMs: parts.endingMs("captured", pod),
    user,
    isUserAlive: user !== undefined && isAskingAlive,
    holder,
    holderEndingMs: parts.endingMs("user", holder, userSandbox?.sentry !== undefined),
    userSandbox,
    sandbox,
    memoryBytes: sandbox && (needsRoom || failed) ? await sandboxes.memoryBytesOf(sandbox) : 0,
    isKilled: needsRoom && sandbox !== undefined && (await records.isKilled(podUID ?? "", sandbox.containerIds)),
    isThawing: sandbox !== undefined && parts.thaws.has(sandbox.id),
    disk,
    markedForMs: parts.markedForMs(disk.marks),
    store: parts.identity,
    tombstone,
    failed,
    hasPublicKeys: needsRoom && hasPublicKey(await files.read(publicKeysPath(storeRoot))),
    isCapturedElsewhere: other !== undefined,
    room: needsRoom
      ? { ...(await store.usedBytes()), freeBytes: await files.freeBytes(storeRoot), untakenBytes: 0 }
      : unasked,
    trial: needsRoom ? await trial.result() : "Writable",
    limits,
    runscVersion: needsRoom ? await runsc.version(signal).catch(() => undefined) : undefined,
  };
}

/** The Pod that asks for this image, with the name of the captured one. */
function askingFor({ namespace, pod, image }: ImageKey, view: View): Stored<Pod> | undefined {
  const byName = view.podByName(namespace, pod);
  return byName?.metadata.annotations?.[memoryImageAnnotation] === image ? byName : undefined;
}

/**
 * Whether the Pod runs, as the API says, or runs in a sandbox whose shim was not asked, as gVisor says earlier. A sandbox whose shim was asked says
 * nothing yet: it may end before anything is restored.
 */
async function isAlive(pod: Stored<Pod>, key: ImageKey, sandboxes: Doors["sandboxes"]): Promise<boolean> {
  const hasRun = pod.status?.containerStatuses?.some(
    ({ state, lastState, restartCount }) =>
      // A Pod that has never started ends with a container that was terminated, and has no time at which it began.
      [state?.running, state?.terminated?.startedAt, lastState?.terminated].some(Boolean) || restartCount > 0,
  );
  if (hasRun) return true;
  const sandbox = await sandboxes.ofPod(pod.metadata.uid);
  return sandbox?.sentry !== undefined && !sandbox.isTorn && (!sandbox.isOurs || sandbox.passed.image !== key.image);
}
