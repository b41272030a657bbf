import { chmod, mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { PersistentVolumeClaim, Pod, Volume } from "../../../api/kinds/core.ts";
import { keyFor, type Stored } from "../../../api/kinds/meta.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { Store } from "../../../kube/informer/informer.ts";
import type { Logger } from "../../../lib/log/log.ts";
import type { Removals } from "../../disk/removals.ts";
import { readReferredObjects } from "../environment/referred-objects.ts";
import { StartRefused } from "../start-refusal.ts";
import { type Directories, isUid } from "./directories.ts";
import { configMapBytes, type FileSelection, secretBytes, selectFiles } from "./volume-files.ts";

// The files may contain secrets: only the owner of the data directory may read them.
const privateMode = 0o700;
const deletedSuffix = ".deleted";

const isRemoval = (name: string): boolean =>
  name.endsWith(deletedSuffix) && isUid(name.slice(0, -deletedSuffix.length));

export interface VolumesOptions {
  readonly client: KubeClient;
  readonly claims: Store<PersistentVolumeClaim>;
  readonly directories: Directories;
  readonly removals: Removals;
  readonly log: Logger;
}

/** The directories of Pods' volumes. Nothing is mounted: a program uses their paths directly. */
export class Volumes {
  readonly #options: VolumesOptions;
  /** The Pods that use a claim, by the claim's UID. */
  readonly #users = new Map<string, Set<string>>();
  readonly #pendingRemovals = new Set<string>();

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
    for (const volume of pod.spec?.volumes ?? []) prepared.set(volume.name, await this.#prepare(volume, pod, signal));
    return prepared;
  }

  /** Begins to remove the directories of the Pod, and those of deleted claims that only it used. It never rejects. */
  async release(podUid: string): Promise<void> {
    const { directories, removals } = this.#options;
    for (const [claimUid, users] of this.#users) {
      users.delete(podUid);
      if (users.size > 0) continue;
      this.#users.delete(claimUid);
      if (this.#pendingRemovals.has(claimUid)) await this.#remove(claimUid);
    }
    void removals.remove(directories.pod(podUid));
  }

  /** Begins to remove the data of a deleted claim, once no Pod uses it. It never rejects. */
  async removeClaim(claimUid: string): Promise<void> {
    if (this.#users.has(claimUid)) this.#pendingRemovals.add(claimUid);
    else await this.#remove(claimUid);
  }

  /**
   * Begins to complete removals that were interrupted. A directory without a claim stays: if the API server has lost its
   * data, the volumes should survive.
   */
  async finishRemovals(): Promise<void> {
    const { directories, removals } = this.#options;
    const names = await readdir(directories.volumes).catch(() => []);
    for (const name of names.filter(isRemoval)) void removals.remove(join(directories.volumes, name));
  }

  async #remove(claimUid: string): Promise<void> {
    this.#pendingRemovals.delete(claimUid);
    const { directories, removals, log } = this.#options;
    const directory = directories.volume(claimUid);
    const renamed = directory + deletedSuffix;
    try {
      await rename(directory, renamed);
    } catch (err) {
      // No Pod has used the claim.
      if ((err as NodeJS.ErrnoException).code === "ENOENT") return;
      log.warn({ err, path: directory }, "could not remove the data of a PersistentVolumeClaim; remove it by hand");
      return;
    }
    void removals.remove(renamed);
  }

  async #prepare(volume: Volume, pod: Stored<Pod>, signal: AbortSignal): Promise<string> {
    const { name, persistentVolumeClaim, configMap, secret, hostPath, emptyDir } = volume;
    const directory = this.#options.directories.podVolume(pod.metadata.uid, name);
    if (persistentVolumeClaim) return this.#prepareClaim(persistentVolumeClaim.claimName, pod);
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
    await writeFiles(directory, content, configMap ?? secret ?? {}, name);
    return directory;
  }

  async #prepareClaim(claimName: string, { metadata }: Stored<Pod>): Promise<string> {
    const claim = this.#options.claims.get(keyFor(metadata.namespace, claimName));
    if (!claim) throw new StartRefused("ContainerCreating", `persistentvolumeclaim "${claimName}" not found`);
    const { uid } = claim.metadata;
    const users = this.#users.get(uid) ?? new Set();
    this.#users.set(uid, users.add(metadata.uid));
    return makeDirectory(this.#options.directories.volume(uid));
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

interface Content {
  readonly source: string;
  readonly files: ReadonlyMap<string, Buffer> | undefined;
}

async function writeFiles(
  directory: string,
  { source, files }: Content,
  selection: FileSelection,
  volumeName: string,
): Promise<void> {
  if (!files && selection.optional) return;
  if (!files) throw new StartRefused("ContainerCreating", `volume "${volumeName}": ${source} not found`);
  for (const { path, bytes, mode } of selectFiles(files, selection)) {
    const file = join(directory, path);
    await mkdir(dirname(file), { recursive: true });
    // Created again each time: the mode of the old file may forbid writing.
    await rm(file, { force: true });
    await writeFile(file, bytes, { mode });
    await chmod(file, mode); // independent of the umask
  }
}

async function prepareHostPath(path: string, type: string): Promise<string> {
  if (type === "DirectoryOrCreate") await mkdir(path, { recursive: true });
  const found = await stat(path).catch(() => undefined);
  const fits = type === "" || (type.startsWith("Directory") ? found?.isDirectory() : found?.isFile());
  if (fits) return path;
  throw new StartRefused("ContainerCreating", `hostPath type check failed: ${path} is not a ${type}`);
}

async function makeDirectory(directory: string): Promise<string> {
  await mkdir(directory, { recursive: true, mode: privateMode });
  return directory;
}
