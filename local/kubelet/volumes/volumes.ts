import { chmod, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { PersistentVolumeClaim, Pod, Volume } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { KubeClient, ObjectName } from "../../../kube/client/client.ts";
import { makeFolders } from "../../../lib/files/make-folders.ts";
import type { Logger } from "../../../lib/log/log.ts";
import type { Removals } from "../../disk/removals.ts";
import { ByteBudget } from "../byte-budget.ts";
import { readReferredObjects } from "../environment/referred-objects.ts";
import { StartRefused } from "../start-refusal.ts";
import { protectedClaim } from "./claim-protection.ts";
import { type Directories, isUid } from "./directories.ts";
import { configMapBytes, type FileSelection, secretBytes, selectFiles, type VolumeFile } from "./volume-files.ts";

// The files may contain secrets: only the owner of the data directory may read them.
const privateMode = 0o700;
/** Of one Pod: items and volumes may repeat the same key of a ConfigMap or Secret. */
const volumeFileBytesMax = 64 * 1024 * 1024;
/** Of a directory that nothing uses any more. */
const deletedSuffix = ".deleted";
/** Of an empty file beside the directory of a deleted claim that a Pod still uses. */
const deletingSuffix = ".deleting";

/** The names of directories that one line of the log has. */
const reportedMax = 10;

/** The UID of a claim, if the name is that and the suffix. */
const uidBefore = (suffix: string, name: string): string | undefined => {
  const uid = name.slice(0, -suffix.length);
  return name.endsWith(suffix) && isUid(uid) ? uid : undefined;
};

export interface VolumesOptions {
  readonly client: KubeClient;
  readonly directories: Directories;
  readonly removals: Removals;
  readonly log: Logger;
}

/** The directories of Pods' volumes. Nothing is mounted: a program uses their paths directly. */
export class Volumes {
  readonly #options: VolumesOptions;
  /** The Pods that use a claim, by the claim's UID. */
  readonly #users = new Map<string, Set<string>>();
  /** Claims that are deleted, and whose data a Pod uses, or may be about to use. */
  readonly #pendingRemovals = new Set<string>();
  #onClaimRemoved: (claimUid: string) => void = () => {};
  /** Reads of claims whose answer may still make a Pod the user of a deleted claim. */
  #reads = 0;

  constructor(options: VolumesOptions) {
    this.#options = options;
  }

  /**
   * Creates the directories of a Pod's volumes and returns their paths. It may be called again for the same Pod.
   *
   * @throws StartRefused when a volume is not available, now or in local mode.
   */
  async prepare(pod: Stored<Pod>, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const prepared = new Map<string, string>();
    const budget = new ByteBudget("the files of the ConfigMaps and Secrets in volumes", volumeFileBytesMax);
    for (const volume of pod.spec?.volumes ?? []) {
      // What has stopped does not wait for this any more, and its folders may be removed already.
      signal.throwIfAborted();
      prepared.set(volume.name, await this.#prepare(volume, { pod, budget }, signal));
    }
    return prepared;
  }

  /** Begins to remove the directories of the Pod, and those of deleted claims that only it used. It never rejects. */
  async release(podUid: string): Promise<void> {
    const { directories, removals } = this.#options;
    await this.leaveClaims(podUid);
    void removals.remove(directories.pod(podUid));
  }

  /** The Pod uses its claims no more. Begins to remove the directories of deleted ones that only it used. It never rejects. */
  async leaveClaims(podUid: string): Promise<void> {
    for (const [claimUid, users] of this.#users) {
      users.delete(podUid);
      if (users.size === 0) this.#users.delete(claimUid);
    }
    await this.#removeUnused();
  }

  /** Calls `listener` for each claim whose data is removed: as far as one can see, or not at all if the system refuses it. */
  whenClaimRemoved(listener: (claimUid: string) => void): void {
    this.#onClaimRemoved = listener;
  }

  /** Begins to remove the data of a deleted claim, once no Pod uses it. Resolves with whether that is so now. It never rejects. */
  async removeClaim(claimUid: string): Promise<boolean> {
    // For the next start, if local mode ends before the Pod does. Only then may the removal begin, which removes the mark.
    if (this.#users.has(claimUid) || this.#reads > 0) await this.#markDeleting(claimUid);
    this.#pendingRemovals.add(claimUid);
    await this.#removeUnused();
    return !this.#pendingRemovals.has(claimUid);
  }

  /**
   * Begins to complete removals that were interrupted, before any Pod runs. A directory without a claim and without a mark stays, and is
   * logged: if the API server has lost its data, the volumes should survive.
   */
  async finishRemovals(claimUids: ReadonlySet<string>): Promise<void> {
    const { directories, removals, log } = this.#options;
    const names = await readdir(directories.volumes).catch(() => []);
    for (const name of names) {
      if (uidBefore(deletedSuffix, name) !== undefined) void removals.remove(join(directories.volumes, name));
      const deleting = uidBefore(deletingSuffix, name);
      // If the API server has lost the deletion, the claim is there again.
      if (deleting !== undefined && claimUids.has(deleting)) await this.#unmark(deleting);
      else if (deleting !== undefined) await this.#remove(deleting);
    }
    const marked = new Set(names.map((name) => uidBefore(deletingSuffix, name)));
    const lost = names.filter((name) => isUid(name) && !claimUids.has(name) && !marked.has(name));
    if (lost.length === 0) return;
    const found = { count: lost.length, directory: directories.volumes, names: lost.slice(0, reportedMax) };
    log.warn(found, "found data without a PersistentVolumeClaim; remove it by hand if nobody needs it");
  }

  async #markDeleting(claimUid: string): Promise<void> {
    const path = this.#options.directories.volume(claimUid) + deletingSuffix;
    await writeFile(path, "").catch((err: unknown) => {
      this.#options.log.warn(
        { err, path },
        "could not mark the data of a deleted PersistentVolumeClaim for removal; if local mode ends before the Pods that use the data, the data stays",
      );
    });
  }

  async #unmark(claimUid: string): Promise<void> {
    const path = this.#options.directories.volume(claimUid) + deletingSuffix;
    await rm(path, { force: true }).catch((err: unknown) => {
      this.#options.log.warn(
        { err, path },
        "could not remove the file that marks the data of a PersistentVolumeClaim for removal; retrying at the next start of local mode",
      );
    });
  }

  async #removeUnused(): Promise<void> {
    if (this.#reads > 0) return; // the last one comes back here
    const unused = [...this.#pendingRemovals].filter((claimUid) => !this.#users.has(claimUid));
    for (const claimUid of unused) this.#pendingRemovals.delete(claimUid);
    await Promise.all(unused.map((claimUid) => this.#remove(claimUid)));
    for (const claimUid of unused) this.#onClaimRemoved(claimUid);
  }

  async #remove(claimUid: string): Promise<void> {
    const { directories, removals, log } = this.#options;
    const directory = directories.volume(claimUid);
    const renamed = directory + deletedSuffix;
    try {
      await rename(directory, renamed);
    } catch (err) {
      // No Pod has used the claim.
      if ((err as NodeJS.ErrnoException).code === "ENOENT") return this.#unmark(claimUid);
      log.warn({ err, path: directory }, "could not remove the data of a PersistentVolumeClaim; remove it by hand");
      return;
    }
    await this.#unmark(claimUid);
    void removals.remove(renamed);
  }

  async #prepare(volume: Volume, { pod, budget }: Preparation, signal: AbortSignal): Promise<string> {
    const { name, persistentVolumeClaim, configMap, secret, hostPath, emptyDir } = volume;
    const directory = this.#options.directories.podVolume(pod.metadata.uid, name);
    if (persistentVolumeClaim) return this.#prepareClaim(persistentVolumeClaim.claimName, pod, signal);
    if (hostPath) return prepareHostPath(hostPath.path, hostPath.type ?? "");
    // The API server reads a volume without a type as an emptyDir.
    if (emptyDir || Object.keys(volume).length === 1) return makeDirectory(directory);
    if (!configMap && !secret) {
      const kind = Object.keys(volume).find((key) => key !== "name");
      throw new StartRefused(
        "CreateContainerConfigError",
        `volume "${name}": local mode has no volumes of kind ${kind}`,
      );
    }
    await makeDirectory(directory);
    const content = configMap
      ? await this.#configMapContent(configMap.name ?? "", pod, signal)
      : await this.#secretContent(secret?.secretName ?? "", pod, signal);
    const files = filesOf(content, configMap ?? secret ?? {}, name);
    for (const { bytes } of files) budget.take(bytes.length);
    await writeFiles(directory, files);
    return directory;
  }

  async #prepareClaim(claimName: string, { metadata }: Stored<Pod>, signal: AbortSignal): Promise<string> {
    this.#reads += 1;
    try {
      const { uid } = await this.#readClaim({ namespace: metadata.namespace, name: claimName }, signal);
      signal.throwIfAborted();
      const users = this.#users.get(uid) ?? new Set();
      this.#users.set(uid, users.add(metadata.uid));
      return await makeDirectory(this.#options.directories.volume(uid));
    } finally {
      this.#reads -= 1;
      await this.#removeUnused();
    }
  }

  /** Read anew: the watch of claims may be behind that of Pods, and tell of a deleted claim with the same name. */
  async #readClaim(where: ObjectName, signal: AbortSignal): Promise<Stored<PersistentVolumeClaim>["metadata"]> {
    const claim = await protectedClaim(this.#options.client, where, signal);
    const title = `persistentvolumeclaim "${where.name}"`;
    if (!claim) throw new StartRefused("ContainerCreating", `${title} not found`);
    if (claim.metadata.deletionTimestamp) throw new StartRefused("ContainerCreating", `${title} is being deleted`);
    return claim.metadata;
  }

  async #configMapContent(name: string, { metadata }: Stored<Pod>, signal: AbortSignal): Promise<Content> {
    const references = { configMaps: new Set([name]), secrets: new Set<string>() };
    const { configMaps } = await readReferredObjects(this.#options.client, metadata.namespace, references, signal);
    const found = configMaps.get(name);
    return { source: `configmap "${name}"`, files: found && configMapBytes(found) };
  }

  async #secretContent(name: string, { metadata }: Stored<Pod>, signal: AbortSignal): Promise<Content> {
    const references = { configMaps: new Set<string>(), secrets: new Set([name]) };
    const { secrets } = await readReferredObjects(this.#options.client, metadata.namespace, references, signal);
    const found = secrets.get(name);
    return { source: `secret "${name}"`, files: found && secretBytes(found) };
  }
}

interface Preparation {
  readonly pod: Stored<Pod>;
  /** Of all volumes of the Pod. */
  readonly budget: ByteBudget;
}

interface Content {
  readonly source: string;
  readonly files: ReadonlyMap<string, Buffer> | undefined;
}

function filesOf({ source, files }: Content, selection: FileSelection, volumeName: string): readonly VolumeFile[] {
  if (!files && selection.optional) return [];
  if (!files) throw new StartRefused("ContainerCreating", `volume "${volumeName}": ${source} not found`);
  return selectFiles(files, selection);
}

async function writeFiles(directory: string, files: readonly VolumeFile[]): Promise<void> {
  for (const { path, bytes, mode } of files) {
    const file = join(directory, path);
    await makeFolders(dirname(file));
    // Created again each time: the mode of the old file may forbid writing.
    await rm(file, { force: true });
    await writeFile(file, bytes, { mode });
    await chmod(file, mode); // independent of the umask
  }
}

async function prepareHostPath(path: string, type: string): Promise<string> {
  if (type === "DirectoryOrCreate") await makeFolders(path);
  const found = await stat(path).catch(() => undefined);
  const fits = type === "" || (type.startsWith("Directory") ? found?.isDirectory() : found?.isFile());
  if (fits) return path;
  throw new StartRefused("ContainerCreating", `hostPath type check failed: ${path} is not a ${type}`);
}

async function makeDirectory(directory: string): Promise<string> {
  await makeFolders(directory, privateMode);
  return directory;
}
