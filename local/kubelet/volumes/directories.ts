import { join } from "node:path";

/** The directories of the runtime, below its data directory. */
export class Directories {
  readonly #root: string;

  constructor(dataDir: string) {
    this.#root = dataDir;
  }

  /** One directory for each claim, by its UID; they outlive Pods. */
  get volumes(): string {
    return join(this.#root, "volumes");
  }

  /** One directory for each Pod, by its UID; removed with the Pod. */
  get pods(): string {
    return join(this.#root, "pods");
  }

  /** One directory for each Pod, by its UID. */
  get logs(): string {
    return join(this.#root, "logs");
  }

  /** One file for each process that runs. */
  get processes(): string {
    return join(this.#root, "processes");
  }

  volume(claimUid: string): string {
    return join(this.volumes, segment(claimUid));
  }

  pod(podUid: string): string {
    return join(this.pods, segment(podUid));
  }

  podVolume(podUid: string, volumeName: string): string {
    return join(this.pod(podUid), "volumes", segment(volumeName));
  }

  /** The default working directory of a container. */
  scratch(podUid: string, containerName: string): string {
    return join(this.pod(podUid), "containers", segment(containerName));
  }

  podLogs(podUid: string): string {
    return join(this.logs, segment(podUid));
  }

  containerLog(podUid: string, containerName: string, restartCount: number): string {
    return join(this.podLogs(podUid), segment(containerName), `${restartCount}.log`);
  }
}

/** Whether a name has the form of a UID: what the runtime creates is named so, and nothing else may be removed. */
export const isUid = (name: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name);

// The API server accepts only such names and UIDs. This is a second check before the file system.
function segment(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) throw new RangeError(`not a valid directory name: ${name}`);
  return name;
}
