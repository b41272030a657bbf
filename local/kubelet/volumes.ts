import { chmod, mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { PersistentVolumeClaim, Pod, Volume } from "../../api/core.ts";
import { keyFor, type Stored } from "../../api/meta.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Store } from "../../kube/informer.ts";
import type { Directories } from "./directories.ts";
import { readReferredObjects } from "./referred-objects.ts";
import { StartRefused } from "./start-refusal.ts";
import { configMapBytes, type FileSelection, secretBytes, selectFiles } from "./volume-files.ts";

// Secrets are among what is written: nobody but the owner of the data directory may look.
const privateMode = 0o700;
const doomedSuffix = ".deleted";

export interface VolumesOptions {
  readonly client: KubeClient;
  readonly claims: Store<PersistentVolumeClaim>;
  readonly directories: Directories;
}

/** The directories that stand for the volumes of Pods. Nothing is mounted: a program finds them by their own paths. */
export class Volumes {
  readonly #options: VolumesOptions;
  /** Claims in use, by UID, and the Pods that use them. */
  readonly #users = new Map<string, Set<string>>();
  readonly #doomed = new Set<string>();

  constructor(options: VolumesOptions) {
    this.#options = options;
  }

  /**
   * Makes the directories of a Pod's volumes and says where they are. It may be called again for the same Pod.
   *
   * @throws StartRefused when a volume cannot be had, now or here.
   */
  async prepare(pod: Stored<Pod>, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const prepared = new Map<string, string>();
    for (const volume of pod.spec?.volumes ?? []) prepared.set(volume.name, await this.#prepare(volume, pod, signal));
    return prepared;
  }

  /** Removes what goes with the Pod, and what it was the last to use. */
  async release(podUid: string): Promise<void> {
    const { directories } = this.#options;
    for (const [claimUid, users] of this.#users) {
      users.delete(podUid);
      if (users.size > 0) continue;
      this.#users.delete(claimUid);
      if (this.#doomed.has(claimUid)) await this.#remove(claimUid);
    }
    await rm(directories.pod(podUid), { recursive: true, force: true });
  }

  /** Removes the data of a claim that is gone, as soon as no Pod uses it. */
  async removeClaim(claimUid: string): Promise<void> {
    if (this.#users.has(claimUid)) this.#doomed.add(claimUid);
    else await this.#remove(claimUid);
  }

  /**
   * Finishes removals that a crash has interrupted. A directory without a claim stays: an API server that has lost its
   * memory is no reason to lose data as well.
   */
  async finishRemovals(): Promise<void> {
    const { directories } = this.#options;
    const names = await readdir(directories.volumes).catch(() => []);
    for (const name of names.filter((name) => name.endsWith(doomedSuffix))) {
      await rm(join(directories.volumes, name), { recursive: true, force: true });
    }
  }

  async #remove(claimUid: string): Promise<void> {
    this.#doomed.delete(claimUid);
    const directory = this.#options.directories.volume(claimUid);
    const doomed = directory + doomedSuffix;
    const there = await rename(directory, doomed).then(
      () => true,
      () => false,
    );
    if (there) await rm(doomed, { recursive: true, force: true });
  }

  async #prepare(volume: Volume, pod: Stored<Pod>, signal: AbortSignal): Promise<string> {
    const { name, persistentVolumeClaim, configMap, secret, hostPath, emptyDir } = volume;
    const directory = this.#options.directories.podVolume(pod.metadata.uid, name);
    if (persistentVolumeClaim) return this.#prepareClaim(persistentVolumeClaim.claimName, pod);
    if (hostPath) return prepareHostPath(hostPath.path, hostPath.type ?? "");
    // The API server reads a volume that names no kind as an emptyDir.
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
    // Written anew each time: the mode of an earlier file may forbid writing to it.
    await rm(file, { force: true });
    await writeFile(file, bytes, { mode });
    await chmod(file, mode); // whatever the umask has taken away
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
